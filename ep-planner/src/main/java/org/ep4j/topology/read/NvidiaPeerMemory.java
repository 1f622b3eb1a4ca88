package org.ep4j.topology.read;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * How NICs can reach the memory of NVIDIA's GPUs: by nvidia_peermem (on AWS efa_nv_peermem), or by dma-buf, which needs the open kernel modules and
 * Linux 5.12 (NVIDIA's GPUDirect RDMA documentation).
 *
 * @param loaded whether NVIDIA's driver is loaded
 * @param peermem where nvidia_peermem, its forerunner or efa_nv_peermem shows itself; empty when it is absent
 * @param driver text of the driver's version; empty when unknown
 * @param kernel release of Linux; empty when unknown
 */
public record NvidiaPeerMemory(boolean loaded, Optional<String> peermem, String driver, String kernel) {
    private static final String CLIENTS = "/sys/kernel/mm/memory_peers";
    private static final Pattern RELEASE = Pattern.compile("(\\d{1,4})\\.(\\d{1,4}).*");

    /** Reads the files of a machine. */
    public static NvidiaPeerMemory of(FileTree files) {
        Stream<String> clients = files.list(CLIENTS).stream()
                .filter(name -> name.startsWith("nv_mem"))
                .map(name -> CLIENTS + "/" + name);
        return new NvidiaPeerMemory(
                files.exists("/sys/module/nvidia"),
                Stream.concat(Stream.of("/sys/module/nvidia_peermem", "/sys/module/efa_nv_peermem"), clients)
                        .filter(files::exists)
                        .findFirst(),
                files.text("/proc/driver/nvidia/version").orElse(""),
                files.text("/proc/sys/kernel/osrelease").orElse(""));
    }

    /** Returns true if the driver consists of NVIDIA's open kernel modules. */
    public boolean openModules() {
        return driver.contains("Open Kernel Module");
    }

    /** Returns true for Linux 5.12 and newer. */
    public boolean newKernel() {
        Matcher release = RELEASE.matcher(kernel);
        if (!release.matches()) {
            return false;
        }
        int major = Integer.parseInt(release.group(1));
        return major > 5 || (major == 5 && Integer.parseInt(release.group(2)) >= 12);
    }

    /** Returns true if NICs can reach the memory; empty if the files do not say enough. */
    public Optional<Boolean> possible() {
        if (peermem.isPresent() || (openModules() && newKernel())) {
            return Optional.of(true);
        }
        boolean closed = !driver.isEmpty() && !openModules();
        boolean old = !kernel.isEmpty() && !newKernel();
        return closed || old ? Optional.of(false) : Optional.empty();
    }

    /** False when there is certainly no way; otherwise unknown, since NICs may need more than this. */
    Optional<Boolean> gpuDirect() {
        return possible().filter(possible -> loaded && !possible);
    }
}
