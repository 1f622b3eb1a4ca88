package org.ep4j.cli.plan;

import java.util.List;
import java.util.Map;
import org.ep4j.tck.Json;
import org.ep4j.topology.model.Printable;

/**
 * A plan with its needs and forecasts, as it stands in the JSON.
 *
 * @param format version of this form
 * @param source where the machine was read
 * @param hosts number of hosts
 * @param ranks number of ranks
 * @param device kind of device of the ranks
 * @param rows how ranks on the host copy and sum rows; empty for GPUs, and for a machine that is not this one
 * @param assumptions suppositions about what the description leaves out
 * @param variables variables of the environment that were to be explained
 * @param warnings oddities of the description
 * @param backends every backend that was planned with
 * @param table backend of the path from every rank of the first host, by rank and peer, for the ranks of the first two hosts
 * @param paths pairs of ranks with like paths, together
 * @param nics NICs of the ranks of the first host
 * @param posting how the ranks of the first host post to NICs, those alike together
 * @param sizes memory, queue pairs, threads
 * @param forecasts predicted operations
 * @param tuned settings that {@code ./ep tune} has found for the planned shape on this machine; empty where ep.tune is off, and for a
 *     machine that is not this one
 */
public record PlanReport(
        int format,
        String source,
        int hosts,
        int ranks,
        String device,
        String rows,
        List<String> assumptions,
        List<Variable> variables,
        List<String> warnings,
        List<Backend> backends,
        List<List<String>> table,
        List<Paths> paths,
        List<RankNics> nics,
        List<Posting> posting,
        Sizes sizes,
        List<Operation> forecasts,
        List<Tuned> tuned) {
    static final int FORMAT = 1;

    /**
     * A variable of the environment with its effect. A variable that several settings read is there once for each of them.
     *
     * @param name its name
     * @param value its value; {@code (not shown)} for secrets and what may be one
     * @param effect in a word
     * @param setting setting that reads it; empty when none does
     * @param meaning its effect, or why it has none
     */
    public record Variable(String name, String value, Effect effect, String setting, String meaning) {
        /** Effect of a variable. */
        public enum Effect {
            /** Gives the value of a setting. */
            SETS,
            /** Would give the value of a setting that has another one from elsewhere. */
            OVERRIDDEN,
            /** Gives a value that its setting refuses. */
            REFUSED,
            /** No setting reads it, but something else in a process of ep4j does. */
            READ_OTHERWISE,
            /** Is known, and does nothing. */
            NONE,
            /** Is not known. */
            UNKNOWN
        }

        /** Escapes control characters. */
        public Variable {
            name = Printable.line(name);
            value = Printable.line(value);
            meaning = Printable.line(meaning);
        }
    }

    /**
     * A backend.
     *
     * @param id its name
     * @param used whether some pair takes it
     */
    public record Backend(String id, boolean used) {}

    /**
     * Pairs of ranks with like paths.
     *
     * @param pairs how many
     * @param from writing rank of one of them
     * @param to its peer
     * @param backend who moves the bytes
     * @param kind how
     * @param gigabytesPerSecond estimate while the writing rank writes to no other peer
     * @param sharers pairs that share it when all ranks of the host write to each other; 1 for links of the pair's own, and between
     *     hosts
     * @param micros estimate for one small counted write
     * @param staged whether bytes take a detour through host memory
     * @param lanes channels
     * @param nics ports of the writing rank of the example
     * @param note a caution; empty when there is none
     * @param rejected every other backend with the reason, as {@code id: reason}
     * @param otherHardware ids of the rejected backends that are for hardware that no rank has
     */
    public record Paths(
            long pairs,
            int from,
            int to,
            String backend,
            String kind,
            double gigabytesPerSecond,
            int sharers,
            double micros,
            boolean staged,
            int lanes,
            List<String> nics,
            String note,
            List<String> rejected,
            List<String> otherHardware) {
        /** The backend of a {@link #rejected} reason. */
        static String backendOf(String rejected) {
            return rejected.substring(0, rejected.indexOf(':'));
        }
    }

    /**
     * NICs of a rank.
     *
     * @param rank which
     * @param device its device
     * @param numa its NUMA node; -1 when unknown
     * @param nics its ports, with the path type
     * @param reason why these
     */
    public record RankNics(int rank, String device, int numa, List<String> nics, String reason) {}

    /**
     * Ranks that post to NICs in the same way.
     *
     * @param backend whose paths they are
     * @param ranks which
     * @param nics ports of each of them
     * @param proxies threads for each of them; 0 on the host device, whose own threads post, and for GPUs that post themselves
     * @param memory by which they exchange, for people
     * @param flow limits of what a rank has in flight on a NIC, to all peers together, and where they are from
     */
    public record Posting(String backend, List<Integer> ranks, int nics, int proxies, String memory, String flow) {
        Posting withRanks(List<Integer> all) {
            return new Posting(backend, all, nics, proxies, memory, flow);
        }
    }

    /**
     * Memory, queue pairs and threads that the plan needs.
     *
     * @param symmetricBytes memory of a rank that peers reach; 0 when the engine refuses the shape
     * @param localBytes memory of a rank for its results, when everything is used
     * @param localParts the same by use; on a GPU each is taken when it is used first
     * @param bytesAtCreation memory of a rank that a buffer takes when it is created
     * @param lanesPerRank by backend
     * @param lanesPerHost by backend
     * @param endpointsPerRank endpoints where queue pairs are not connected, as on EFA
     * @param proxiesPerRank host threads that post for a rank
     * @param proxiesPerHost for all ranks of a host
     * @param multiprocessors multiprocessors that move bytes at full rate
     */
    public record Sizes(
            long symmetricBytes,
            long localBytes,
            Map<String, Long> localParts,
            long bytesAtCreation,
            Map<String, Long> lanesPerRank,
            Map<String, Long> lanesPerHost,
            long endpointsPerRank,
            int proxiesPerRank,
            int proxiesPerHost,
            int multiprocessors) {}

    /**
     * A predicted operation.
     *
     * @param mode {@code ht} or {@code ll}
     * @param operation {@code dispatch} or {@code combine}
     * @param tokens tokens a rank
     * @param micros predicted time
     * @param latencyMicros part of it that does not depend on bytes
     * @param bottleneck what limits it
     * @param logicalGigabytesPerSecond bytes of a rank's messages, those to itself among them, over time
     * @param wireGigabytesPerSecond bytes that leave a rank over time
     * @param loads the most loaded resource of each kind, the slowest first
     */
    public record Operation(
            String mode,
            String operation,
            int tokens,
            double micros,
            double latencyMicros,
            String bottleneck,
            double logicalGigabytesPerSecond,
            double wireGigabytesPerSecond,
            List<Load> loads) {}

    /**
     * A resource.
     *
     * @param resource the most loaded of its kind
     * @param alike how many of the kind are loaded
     * @param bytes bytes through it
     * @param gigabytesPerSecond what it carries
     * @param micros time that it is busy
     */
    public record Load(String resource, int alike, double bytes, double gigabytesPerSecond, double micros) {}

    /**
     * A measurement of {@code ./ep tune}.
     *
     * @param measured its date
     * @param on devices, ranks and backends, for people
     * @param settings faster than their defaults; none where the defaults are best
     */
    public record Tuned(String measured, String on, List<TunedSetting> settings) {}

    /**
     * A setting that is faster than its default.
     *
     * @param name of the setting
     * @param value that was measured
     * @param reason times that were measured, for people
     * @param instead the explicit value and where it is set; empty if buffers use the measured value
     */
    public record TunedSetting(String name, String value, String reason, String instead) {}

    public String json() {
        return Json.of(this);
    }

    /** Returns JSON that has nothing but the variables, for settings that allow no plan. */
    public static String json(List<Variable> variables) {
        return Json.of(Json.fields("format", FORMAT, "variables", variables));
    }
}
