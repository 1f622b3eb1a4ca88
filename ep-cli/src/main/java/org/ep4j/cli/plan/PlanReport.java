package org.ep4j.cli.plan;

import java.util.List;
import java.util.Map;
import org.ep4j.tck.Json;

/**
 * A plan with what it takes and gives, as it stands in the JSON.
 *
 * @param format version of this form
 * @param source where the machine was read
 * @param hosts number of hosts
 * @param ranks number of ranks
 * @param device kind of device of the ranks
 * @param rows how ranks on the host copy and sum rows; empty for GPUs, and for a machine that is not this one
 * @param assumptions what the description does not say and was supposed
 * @param variables variables of the environment that were to be explained
 * @param warnings what was odd in the description
 * @param backends every backend that was planned with
 * @param table backend of the path from every rank of the first host, by rank and peer, for the ranks of the first two hosts
 * @param paths pairs of ranks with like paths, together
 * @param nics NICs of the ranks of the first host
 * @param posting how the ranks of the first host post to NICs, those alike together
 * @param sizes memory, queue pairs, threads
 * @param forecasts predicted operations
 */
public record PlanReport(
        int format,
        String source,
        int hosts,
        int ranks,
        String device,
        String rows,
        List<String> assumptions,
        List<EnvironmentVariable> variables,
        List<String> warnings,
        List<Backend> backends,
        List<List<String>> table,
        List<Paths> paths,
        List<RankNics> nics,
        List<Posting> posting,
        Sizes sizes,
        List<Operation> forecasts) {
    static final int FORMAT = 1;

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
     * @param note what to be careful of; empty when there is nothing
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
     * How ranks post to NICs.
     *
     * @param backend whose paths they are
     * @param ranks which
     * @param nics ports of each of them
     * @param proxies threads for each of them; 0 on the host device, whose own threads post, and for GPUs that post themselves
     * @param memory by which they exchange, for people
     * @param flow limits of what a rank has in flight on a NIC, to all peers together, and where they are from
     */
    public record Posting(String backend, List<Integer> ranks, int nics, int proxies, String memory, String flow) {}

    /**
     * What the plan takes.
     *
     * @param symmetricBytes memory of a rank that peers reach; 0 when the engine refuses the shape
     * @param localBytes memory of a rank for its results
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

    public String json() {
        return Json.of(this);
    }

    /** As JSON that has nothing but the variables, for settings that allow no plan. */
    public static String json(List<EnvironmentVariable> variables) {
        return Json.of(Json.fields("format", FORMAT, "variables", variables));
    }
}
