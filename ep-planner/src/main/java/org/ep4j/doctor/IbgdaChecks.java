package org.ep4j.doctor;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;

/** Checks of what posting from the GPU needs (NVSHMEM's IBGDA). */
final class IbgdaChecks implements Examination {
    private static final String PARAMETERS = "/proc/driver/nvidia/params";

    /** NVSHMEM src/host/transport/transport.cpp, version 3.7. */
    private static final Set<String> TRANSPORTS = Set.of("", "ibrc", "ucx", "libfabric", "ibdevx", "gpunetio", "none");

    @Override
    public List<Check> examine(DoctorInput input) {
        boolean possible = !input.gpus(GpuVendor.NVIDIA).isEmpty() && input.has(NicFamily.MLX5);
        String absent = "no NVIDIA GPU with an NVIDIA NIC";
        return List.of(
                possible ? peerMapping(input) : DoctorCode.PEER_MAPPING.notApplicable(absent),
                possible ? handler(input) : DoctorCode.NIC_HANDLER.notApplicable(absent),
                nics(input),
                transport(input));
    }

    private static String wanted(DoctorInput input) {
        String handler = input.variable("NVSHMEM_IBGDA_NIC_HANDLER").toLowerCase(Locale.ROOT);
        return handler.isEmpty() ? "auto" : handler;
    }

    private static Optional<Boolean> mapping(DoctorInput input) {
        return input.files().text(PARAMETERS).map(text -> text.matches("(?s).*PeerMappingOverride\\s*=\\s*1\\b.*"));
    }

    private static Check peerMapping(DoctorInput input) {
        Optional<Boolean> on = mapping(input);
        if (on.isEmpty()) {
            return DoctorCode.PEER_MAPPING.notRun(
                    PARAMETERS + " cannot be read", "run doctor where the NVIDIA driver is loaded");
        }
        if (on.get()) {
            return DoctorCode.PEER_MAPPING.pass("PeerMappingOverride=1");
        }
        return switch (wanted(input)) {
            case "gpu" ->
                DoctorCode.PEER_MAPPING.fail(
                        "PeerMappingOverride is off, and NVSHMEM_IBGDA_NIC_HANDLER=gpu does not let the CPU ring the doorbell instead");
            case "cpu" ->
                DoctorCode.PEER_MAPPING.pass(
                        "PeerMappingOverride is off; NVSHMEM_IBGDA_NIC_HANDLER=cpu does not need it");
            default ->
                DoctorCode.PEER_MAPPING.warn(
                        "PeerMappingOverride is off, so the CPU rings the doorbell, which is slower");
        };
    }

    private static Check handler(DoctorInput input) {
        String chosen = "NVSHMEM_IBGDA_NIC_HANDLER is " + wanted(input);
        Optional<Boolean> byGpu = wanted(input).equals("cpu") ? Optional.of(false) : mapping(input);
        if (byGpu.isEmpty()) {
            return DoctorCode.NIC_HANDLER.notRun(
                    chosen + ", and " + PARAMETERS + " cannot be read", "run doctor where the NVIDIA driver is loaded");
        }
        if (byGpu.get()) {
            return DoctorCode.NIC_HANDLER.pass(chosen + ": the GPU rings the doorbell");
        }
        Optional<FoundLibrary> old = input.found(KnownLibrary.NVSHMEM).stream()
                .filter(one -> one.number().known() && !one.number().atLeast(3, 4, 5))
                .findFirst();
        if (old.isPresent() && !input.files().exists("/dev/gdrdrv")) {
            return DoctorCode.NIC_HANDLER.fail(chosen + ": the CPU rings the doorbell; NVSHMEM " + old.get()
                    + " needs /dev/gdrdrv for this, and /dev/gdrdrv is absent");
        }
        return DoctorCode.NIC_HANDLER.warn(chosen
                + ": the CPU rings the doorbell; ep4j works, but kernels that ring the doorbell themselves hang");
    }

    private static Check nics(DoctorInput input) {
        if (!input.variable("NVSHMEM_IB_ENABLE_IBGDA").equals("1")) {
            return DoctorCode.IBGDA_NICS.notApplicable("NVSHMEM_IB_ENABLE_IBGDA is not set");
        }
        return input.has(NicFamily.MLX5)
                ? DoctorCode.IBGDA_NICS.pass("there are mlx5 NICs")
                : DoctorCode.IBGDA_NICS.fail("NVSHMEM_IB_ENABLE_IBGDA=1, but there is no mlx5 NIC");
    }

    private static Check transport(DoctorInput input) {
        String value = input.variable("NVSHMEM_REMOTE_TRANSPORT");
        if (value.isEmpty()) {
            return DoctorCode.REMOTE_TRANSPORT.notApplicable("NVSHMEM_REMOTE_TRANSPORT is not set");
        }
        return TRANSPORTS.contains(value.toLowerCase(Locale.ROOT))
                ? DoctorCode.REMOTE_TRANSPORT.pass("NVSHMEM_REMOTE_TRANSPORT=" + value)
                : DoctorCode.REMOTE_TRANSPORT.warn(
                        "NVSHMEM_REMOTE_TRANSPORT=" + value + " is not a transport of NVSHMEM");
    }
}
