package org.ep4j.gpu.driver;

import org.ep4j.topology.read.FileTree;

/**
 * What decides whether CUDA or HIP lets two processes of a host open each other's memory.
 *
 * @param process names the process among all of the host
 * @param user effective user id; empty when unknown
 * @param pids PID namespace; empty when unknown
 * @param ipc IPC namespace; empty when unknown
 */
public record ProcessFacts(String process, String user, String pids, String ipc) {
    public static ProcessFacts of(FileTree files) {
        return new ProcessFacts(
                GpuSharing.process(),
                effectiveUser(files.text("/proc/self/status").orElse("")),
                GpuSharing.namespace("pid"),
                GpuSharing.namespace("ipc"));
    }

    /** The second number of the line {@code Uid:}. */
    static String effectiveUser(String status) {
        return status.lines()
                .filter(line -> line.startsWith("Uid:"))
                .map(line -> line.substring(4).strip().split("\\s+", -1))
                .filter(numbers -> numbers.length > 1)
                .map(numbers -> numbers[1])
                .findFirst()
                .orElse("");
    }
}
