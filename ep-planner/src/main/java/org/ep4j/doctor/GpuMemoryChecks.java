package org.ep4j.doctor;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.read.KfdNode;
import org.ep4j.topology.read.NvidiaPeerMemory;

/** Checks that NICs can read and write GPU memory. */
final class GpuMemoryChecks implements Examination {
    private static final String RELEASE = "/proc/sys/kernel/osrelease";

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(registration(input), gdrcopy(input), large(input));
    }

    private static Check registration(DoctorInput input) {
        DoctorCode code = DoctorCode.GPU_MEMORY_REGISTRATION;
        if (input.rdmaNics().isEmpty()) {
            return code.notApplicable("no NIC with RDMA");
        }
        if (!input.gpus(GpuVendor.NVIDIA).isEmpty()) {
            return nvidia(input, code);
        }
        return input.gpus(GpuVendor.AMD).isEmpty() ? code.notApplicable("no GPU") : amd(input, code);
    }

    private static Check nvidia(DoctorInput input, DoctorCode code) {
        NvidiaPeerMemory memory = NvidiaPeerMemory.of(input.files());
        if (memory.peermem().isPresent()) {
            String file = memory.peermem().get();
            return code.pass("by " + file.replaceFirst(".*/", "") + " (" + file + ")");
        }
        if (memory.driver().isEmpty() && !memory.kernel().isEmpty()) {
            return code.notRun(
                    "nvidia_peermem is absent, and /proc/driver/nvidia/version cannot be read: the NVIDIA driver is not"
                            + " loaded, or a recording lacks it",
                    "load the NVIDIA driver (modprobe nvidia)");
        }
        if (memory.possible().isEmpty()) {
            return code.notRun(
                    "nvidia_peermem is absent, and too little is known of the NVIDIA driver and the kernel to decide about dma-buf",
                    "run doctor on the machine");
        }
        boolean open = memory.openModules();
        boolean kernel = memory.newKernel();
        if (open && kernel) {
            return code.pass(
                    "by dma-buf (open kernel modules, Linux " + memory.kernel() + "); nvidia_peermem is absent");
        }
        return code.fail("nvidia_peermem is absent, and dma-buf needs "
                + (open ? "" : "NVIDIA's open kernel modules (the loaded modules are not open)")
                + (open || kernel ? "" : " and ")
                + (kernel
                        ? ""
                        : "Linux 5.12 or newer (this is " + (memory.kernel().isEmpty() ? "unknown" : memory.kernel())
                                + ")"));
    }

    private static Check amd(DoctorInput input, DoctorCode code) {
        Optional<String> client = KfdNode.peerMemoryClient(input.files());
        if (client.isPresent()) {
            return code.pass("by the peer interface of amdgpu (" + client.get() + ")");
        }
        String release = input.files().text(RELEASE).orElse("");
        Optional<String> kernel = input.files().text("/boot/config-" + release);
        if (kernel.isEmpty()) {
            return code.notRun(
                    "no peer interface of amdgpu, and /boot/config-" + release + " cannot be read",
                    "check whether the kernel has CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA");
        }
        List<String> missing = Stream.of("CONFIG_DMABUF_MOVE_NOTIFY", "CONFIG_PCI_P2PDMA")
                .filter(option -> !kernel.get().contains(option + "=y"))
                .toList();
        return missing.isEmpty()
                ? code.pass("by dma-buf (Linux " + release + ")")
                : code.fail("no peer interface of amdgpu, and the kernel lacks " + String.join(" and ", missing)
                        + ", which dma-buf needs");
    }

    private static Check gdrcopy(DoctorInput input) {
        DoctorCode code = DoctorCode.GDRCOPY;
        if (input.gpus(GpuVendor.NVIDIA).isEmpty()) {
            return code.notApplicable("no NVIDIA GPU");
        }
        if (input.files().exists("/dev/gdrdrv")) {
            return code.pass("/dev/gdrdrv is there");
        }
        List<FoundLibrary> old = input.found(KnownLibrary.NVSHMEM).stream()
                .filter(one -> one.number().known() && !one.number().atLeast(3, 4, 5))
                .toList();
        return old.isEmpty()
                ? code.pass("/dev/gdrdrv is absent, and nothing that was found needs it")
                : code.warn("/dev/gdrdrv is absent; NVSHMEM is " + old.get(0));
    }

    private static Check large(DoctorInput input) {
        DoctorCode code = DoctorCode.LARGE_REGISTRATIONS;
        if (!input.has(NicFamily.IRDMA)) {
            return code.notApplicable("no Intel NIC");
        }
        return PciChecks.Iommu.of(input).translating().isEmpty()
                ? code.pass("no IOMMU translates")
                : code.warn("Intel NICs behind an IOMMU that translates");
    }
}
