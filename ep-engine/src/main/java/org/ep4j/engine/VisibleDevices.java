package org.ep4j.engine;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;

/**
 * Maps device numbers of this process to GPUs of the machine. CUDA and HIP number only the devices that their environment
 * variables make visible, in the order of these variables ("CUDA Environment Variables" of NVIDIA's programming guide, "GPU
 * isolation techniques" of AMD's documentation).
 */
final class VisibleDevices {
    private final Topology topology;
    private final FileTree files;
    private final Map<String, String> environment;

    VisibleDevices(Topology topology, FileTree files, Map<String, String> environment) {
        this.topology = topology;
        this.files = files;
        this.environment = environment;
    }

    /** GPUs that CUDA numbers from 0; empty when the order cannot be known. */
    List<Gpu> cuda() {
        List<Gpu> gpus = of(GpuVendor.NVIDIA);
        long models = gpus.stream()
                .map(gpu -> List.of(gpu.id().vendor(), gpu.id().device()))
                .distinct()
                .count();
        boolean busOrder = "PCI_BUS_ID".equals(environment.get("CUDA_DEVICE_ORDER"));
        if (models > 1 && !busOrder) {
            // The default order is the fastest first, which only CUDA knows.
            return List.of();
        }
        return visible("CUDA_VISIBLE_DEVICES", gpus, this::nvidiaUuid);
    }

    /** GPUs that HIP numbers from 0: those that HIP makes visible, of those that the runtime below HIP does. */
    List<Gpu> hip() {
        List<Gpu> gpus = visible("ROCR_VISIBLE_DEVICES", of(GpuVendor.AMD), this::amdUuid);
        // Unlike CUDA and the runtime below, HIP ignores an empty variable (ROCm clr, rocdevice.cpp).
        for (String own : List.of("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")) {
            if (!environment.getOrDefault(own, "").isEmpty()) {
                return visible(own, gpus, this::amdUuid);
            }
        }
        return gpus;
    }

    private List<Gpu> of(GpuVendor vendor) {
        return topology.gpus().stream().filter(gpu -> gpu.vendor() == vendor).toList();
    }

    private List<Gpu> visible(String variable, List<Gpu> gpus, Function<Gpu, String> uuid) {
        String value = environment.get(variable);
        if (value == null) {
            return gpus;
        }
        List<Gpu> visible = new ArrayList<>();
        for (String entry : value.split(",", -1)) {
            Optional<Gpu> gpu = gpu(entry.strip(), gpus, uuid);
            if (gpu.isEmpty()) {
                // Entries from the first invalid one on are ignored.
                break;
            }
            visible.add(gpu.get());
        }
        // A device that is listed twice makes the whole list invalid.
        return new HashSet<>(visible).size() == visible.size() ? visible : List.of();
    }

    /** Finds a GPU by number, or by a UUID or its prefix. */
    private static Optional<Gpu> gpu(String entry, List<Gpu> gpus, Function<Gpu, String> uuid) {
        if (entry.matches("\\d{1,4}")) {
            int number = Integer.parseInt(entry);
            return number < gpus.size() ? Optional.of(gpus.get(number)) : Optional.empty();
        }
        String prefix = entry.toLowerCase(Locale.ROOT);
        if (!prefix.startsWith("gpu-")) {
            return Optional.empty();
        }
        List<Gpu> matching = gpus.stream()
                .filter(gpu -> uuid.apply(gpu).toLowerCase(Locale.ROOT).startsWith(prefix))
                .toList();
        return matching.size() == 1 ? Optional.of(matching.get(0)) : Optional.empty();
    }

    private String nvidiaUuid(Gpu gpu) {
        return text("/proc/driver/nvidia/gpus/", gpu, "/information")
                .lines()
                .filter(line -> line.startsWith("GPU UUID:"))
                .findFirst()
                .map(line -> line.substring("GPU UUID:".length()).strip())
                .orElse("");
    }

    private String amdUuid(Gpu gpu) {
        return "GPU-" + text("/sys/bus/pci/devices/", gpu, "/unique_id");
    }

    private String text(String folder, Gpu gpu, String file) {
        return gpu.address()
                .map(PciAddress::toString)
                .flatMap(address -> files.text(folder + address + file))
                .orElse("");
    }
}
