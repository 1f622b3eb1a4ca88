package org.ep4j.cli.report;

import java.lang.management.ManagementFactory;
import java.util.Locale;
import oshi.SystemInfo;
import oshi.hardware.CentralProcessor;
import oshi.hardware.HardwareAbstractionLayer;

/**
 * The machine that figures come from.
 *
 * @param host its name
 * @param cpu model of its processor
 * @param cores processors that this JVM may use
 * @param memoryBytes main memory
 * @param os operating system with version
 * @param jdk version and vendor
 * @param loadAverage processes that wanted to run in the last minute, on average; negative where it is unknown
 */
public record HostFacts(
        String host, String cpu, int cores, long memoryBytes, String os, String jdk, double loadAverage) {
    public static HostFacts here() {
        SystemInfo info = new SystemInfo();
        HardwareAbstractionLayer hardware = info.getHardware();
        CentralProcessor cpu = hardware.getProcessor();
        return new HostFacts(
                info.getOperatingSystem().getNetworkParams().getHostName(),
                cpu.getProcessorIdentifier().getName().strip(),
                Runtime.getRuntime().availableProcessors(),
                hardware.getMemory().getTotal(),
                info.getOperatingSystem() + ", " + System.getProperty("os.name", "") + " "
                        + System.getProperty("os.version", ""),
                Runtime.version() + " (" + System.getProperty("java.vendor", "") + ")",
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    }

    /** Returns a warning where other processes used so much of the machine that they may disturb a measurement; else an empty text. */
    public String loadWarning() {
        return loadAverage > cores / 2.0
                ? Wrapped.line(String.format(
                        Locale.ROOT,
                        "The machine was busy before the start (load average %.1f on %d cores): repeat this on an idle machine.",
                        loadAverage,
                        cores))
                : "";
    }
}
