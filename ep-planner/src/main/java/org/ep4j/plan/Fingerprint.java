package org.ep4j.plan;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.spi.RankProfile;

/**
 * What a measurement of {@code ./ep tune} depends on, apart from the shape of the buffers: devices, ranks and backends. Immutable.
 *
 * @param device type of the rank's device ({@link Device#type})
 * @param model architecture of the GPU, or name of the processor; empty if unknown
 * @param processors multiprocessors of the GPU, or hardware threads that the process may use; 0 if unknown
 * @param ranks number of ranks of the group
 * @param hosts number of hosts of the group
 * @param devices number of different devices of all ranks; it is below {@code ranks} where ranks share one
 * @param backends ids of the backends that some path uses, in alphabetical order
 */
public record Fingerprint(
        String device, String model, int processors, int ranks, int hosts, int devices, List<String> backends) {
    private static final Path CPUINFO = Path.of("/proc/cpuinfo");

    public Fingerprint {
        backends = List.copyOf(backends);
    }

    /**
     * The fingerprint of a rank on a GPU.
     *
     * @param architecture of its GPU, for example {@code sm_90}; empty if unknown
     * @param multiprocessors of its GPU; 0 if unknown
     */
    public static Fingerprint ofGpu(GroupPlan plan, int rank, String architecture, int multiprocessors) {
        return of(plan, rank, architecture, multiprocessors);
    }

    /** The fingerprint of a rank on the host device of this machine, whose processors this process may use. */
    public static Fingerprint ofHost(GroupPlan plan, int rank) {
        return ofHost(plan, rank, CPUINFO);
    }

    static Fingerprint ofHost(GroupPlan plan, int rank, Path cpuinfo) {
        return of(plan, rank, processor(cpuinfo), Runtime.getRuntime().availableProcessors());
    }

    private static Fingerprint of(GroupPlan plan, int rank, String model, int processors) {
        List<RankProfile> profiles = plan.profiles();
        return new Fingerprint(
                profiles.get(rank).device().type(),
                model,
                processors,
                plan.ranks(),
                (int) profiles.stream().map(RankProfile::hostId).distinct().count(),
                (int) profiles.stream().map(Fingerprint::place).distinct().count(),
                plan.backends());
    }

    /** A device among the devices of all hosts. A process that sees only some GPUs counts them from 0, so ordinals are not enough. */
    private static List<String> place(RankProfile profile) {
        Device device = profile.device();
        int gpu = profile.locality().gpu();
        return List.of(profile.hostId(), device.type(), Integer.toString(gpu < 0 ? device.ordinal() : gpu));
    }

    /** The model of the first processor; empty if the file does not say it. */
    private static String processor(Path cpuinfo) {
        Map<String, String> first = new HashMap<>();
        try (BufferedReader reader = Files.newBufferedReader(cpuinfo, StandardCharsets.UTF_8)) {
            // The others are not read: there may be hundreds, and Linux measures the frequency of each.
            String line = reader.readLine();
            while (line != null && !line.isBlank()) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    first.putIfAbsent(
                            line.substring(0, colon).strip(),
                            line.substring(colon + 1).strip());
                }
                line = reader.readLine();
            }
        } catch (IOException e) {
            return "";
        }
        String implementer = first.getOrDefault("CPU implementer", "");
        return first.getOrDefault(
                "model name",
                implementer.isEmpty()
                        ? ""
                        : "implementer " + implementer + ", part " + first.getOrDefault("CPU part", "unknown"));
    }

    /** Returns true if both are equal in everything that both know: model and processors may be unknown. */
    public boolean matches(Fingerprint other) {
        return device.equals(other.device)
                && (model.isEmpty() || other.model.isEmpty() || model.equals(other.model))
                && (processors == 0 || other.processors == 0 || processors == other.processors)
                && ranks == other.ranks
                && hosts == other.hosts
                && devices == other.devices
                && backends.equals(other.backends);
    }

    /**
     * The fingerprint in words: {@code cuda sm_90 with 132 multiprocessors, 2 ranks on 1 host and 2 GPUs, ipc-nvlink}.
     */
    public String text() {
        boolean host = device.equals(Device.HOST.type());
        List<String> parts = new ArrayList<>();
        parts.add(device
                + (model.isEmpty() ? "" : " " + model)
                + (processors == 0 ? "" : " with " + count(processors, host ? "processor" : "multiprocessor")));
        parts.add(count(ranks, "rank") + " on " + count(hosts, "host") + (host ? "" : " and " + count(devices, "GPU")));
        parts.addAll(backends);
        return String.join(", ", parts);
    }

    /** A number with its noun, whose plural ends in s. */
    static String count(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }
}
