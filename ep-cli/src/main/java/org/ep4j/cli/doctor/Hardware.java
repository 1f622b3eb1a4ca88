package org.ep4j.cli.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;

/**
 * Hardware of a machine as people name it.
 *
 * @param system operating system; empty when it is not known
 * @param cores CPU cores that may be used; 0 when it is not known
 * @param memoryBytes main memory; 0 when it is not known
 * @param gpus GPUs of the machine
 * @param rdmaNics names of its NICs with RDMA
 */
record Hardware(String system, int cores, long memoryBytes, List<Gpu> gpus, List<String> rdmaNics) {
    private static final Pattern NAME = Pattern.compile("(?m)^PRETTY_NAME=\"?([^\"\\n(]*)");
    private static final Pattern PROCESSOR = Pattern.compile("(?m)^processor\\s*:");
    private static final Pattern MEMORY = Pattern.compile("(?m)^MemTotal:\\s+([0-9]{1,15}) kB");

    private static final int FEW = 4;

    /**
     * Reads what the files of a machine say.
     *
     * @param live true for this machine, whose cores are those that this JVM may use
     */
    static Hardware of(Topology machine, FileTree files, boolean live) {
        String cpus = files.text("/proc/cpuinfo").orElse("");
        int listed = (int) PROCESSOR.matcher(cpus).results().count();
        return new Hardware(
                first(files, "/etc/os-release", NAME).orElse(""),
                live ? Runtime.getRuntime().availableProcessors() : listed,
                first(files, "/proc/meminfo", MEMORY).map(Long::parseLong).orElse(0L) << 10,
                machine.gpus().stream().filter(gpu -> gpu.host() == 0).toList(),
                // Others serve NVLink switches, or belong to another network namespace.
                machine.nics().stream()
                        .filter(nic ->
                                nic.host() == 0 && nic.compute() && nic.family().rdma())
                        .filter(nic -> !machine.isForeign(nic, -1))
                        .map(Nic::name)
                        .toList());
    }

    private static Optional<String> first(FileTree files, String path, Pattern pattern) {
        return files.text(path)
                .map(pattern::matcher)
                .filter(Matcher::find)
                .map(found -> found.group(1).strip());
    }

    /** GPUs of a vendor by model, such as {@code 8 x NVIDIA H200}; empty when there is none. */
    String models(GpuVendor vendor) {
        return models(gpus.stream().filter(gpu -> gpu.vendor() == vendor).toList());
    }

    private static String models(List<Gpu> gpus) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        gpus.forEach(gpu -> counts.merge(gpu.model().isEmpty() ? unnamed(gpu) : gpu.model(), 1, Integer::sum));
        List<String> parts = new ArrayList<>();
        counts.forEach((model, count) -> parts.add(count + " x " + model));
        return String.join(", ", parts);
    }

    private static String unnamed(Gpu gpu) {
        return gpu.vendor() == GpuVendor.OTHER ? "GPU of another vendor" : gpu.vendor() + " GPU";
    }

    /** NICs with RDMA, by name where they are few; empty when there is none. */
    String nics() {
        return rdmaNics.size() <= FEW ? String.join(", ", rdmaNics) : rdmaNics.size() + " NICs";
    }

    /** The machine in a few words: system, cores, memory, GPUs, NICs with RDMA. */
    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        if (cores > 0) {
            parts.add(cores == 1 ? "1 core" : cores + " cores");
        }
        if (memoryBytes > 0) {
            parts.add(String.format(Locale.ROOT, "%.0f GB", memoryBytes / 1e9));
        }
        parts.add(gpus.isEmpty() ? "no GPU" : models(gpus));
        parts.add(
                rdmaNics.isEmpty()
                        ? "no RDMA NIC"
                        : rdmaNics.size() + (rdmaNics.size() == 1 ? " RDMA NIC" : " RDMA NICs"));
        return (system.isEmpty() ? "" : system + ": ") + String.join(", ", parts);
    }
}
