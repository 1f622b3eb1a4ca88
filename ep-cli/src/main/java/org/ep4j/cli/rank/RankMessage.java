package org.ep4j.cli.rank;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.BufferSize;
import org.ep4j.EpGroup;
import org.ep4j.EpTraffic;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.transport.memory.EngineDevice;
import tools.jackson.databind.json.JsonMapper;

/** Message of a rank process to the process that started it: one line of standard output each. */
public sealed interface RankMessage {
    /** Beginning of such a line. */
    String MARK = "@ep:";

    /**
     * The group is up.
     *
     * @param explanation summary of its plan
     * @param backends that the plan uses
     * @param symmetricBytes memory of the buffer that peers reach
     * @param localBytes memory of the buffer of the rank alone
     * @param fingerprint of the rank, on which measured settings depend
     * @param notes of the plan: what {@code ./ep tune} has measured for such groups
     */
    record Joined(
            String explanation,
            List<String> backends,
            long symmetricBytes,
            long localBytes,
            Fingerprint fingerprint,
            List<String> notes)
            implements RankMessage {
        public static Joined of(EpGroup group, BufferSize size) {
            GroupPlan plan = GroupPlan.of(group.plan());
            return new Joined(
                    plan.summary(),
                    plan.backends(),
                    size.symmetricBytes(),
                    size.localBytes(),
                    fingerprintOf(group),
                    plan.notes());
        }

        /** Returns the fingerprint of the rank of a group. */
        static Fingerprint fingerprintOf(EpGroup group) {
            GroupPlan plan = GroupPlan.of(group.plan());
            return group.device() instanceof EngineDevice device
                    ? device.fingerprint(plan, group.rank())
                    : Fingerprint.ofHost(plan, group.rank());
        }
    }

    /** Step {@code done} of {@code total} is done; {@code what} names it for people. */
    record Progress(int done, int total, String what) implements RankMessage {}

    /**
     * Everything that one rank measured of one operation, one number a counted round.
     *
     * @param nanos duration
     * @param rows rows received: (token, rank) pairs
     * @param ownRows those of them that came from the rank itself
     * @param rowBytes bytes of one row
     * @param allocatedBytes on the heap of the JVM by the thread of the call, one number a round of their own; may be empty
     */
    record Samples(
            String operation,
            List<Long> nanos,
            List<Long> rows,
            List<Long> ownRows,
            long rowBytes,
            List<Long> allocatedBytes)
            implements RankMessage {}

    /**
     * The GPU of the rank.
     *
     * @param gpu name for people
     * @param architecture as compilers name it
     * @param processors multiprocessors that it has
     * @param highThroughputSms of these, how many move rows in high throughput
     * @param lowLatencySms likewise in low latency
     */
    record OnGpu(String gpu, String architecture, int processors, int highThroughputSms, int lowLatencySms)
            implements RankMessage {}

    /**
     * Everything that one rank measured of one operation on a GPU, in nanoseconds, one number a counted round.
     *
     * @param tokens T
     * @param gpuNanos on the GPU
     * @param callNanos from the call until the host saw the end
     * @param hostNanos until an asynchronous call of few tokens returned, when the code had run many times
     * @param queuedNanos of one of several operations of few tokens, one queued behind the other, with what each needs before it
     * @param ceilingNanos of the ceiling on the GPU; empty where some peers are not mapped
     * @param emptyNanos of a kernel that does nothing
     * @param logicalBytes received in a round on average, from the rank itself too
     * @param wireBytes received from others
     * @param sentBytes sent in a round on average, by the kind of the path that they take
     * @param allocatedBytes that each of some calls allocated on the heap of the JVM in its thread
     */
    record GpuSamples(
            String operation,
            int tokens,
            List<Long> gpuNanos,
            List<Long> callNanos,
            List<Long> hostNanos,
            List<Long> queuedNanos,
            List<Long> ceilingNanos,
            List<Long> emptyNanos,
            double logicalBytes,
            double wireBytes,
            Map<String, Double> sentBytes,
            List<Long> allocatedBytes)
            implements RankMessage {}

    /**
     * Chains of pairs of operations on the GPU of one rank, in nanoseconds, one number a counted chain.
     *
     * @param operation name of the pair
     * @param tokens T
     * @param way how the pairs were queued
     * @param halfPairs counted pairs of a chain by two
     * @param firstNanos of the first half of the counted pairs
     * @param secondNanos of the second half
     */
    record ChainSamples(
            String operation, int tokens, String way, int halfPairs, List<Long> firstNanos, List<Long> secondNanos)
            implements RankMessage {}

    /** An operation was compared with the reference: so many numbers, and the first difference; empty when there is none. */
    record Validated(String operation, long elements, String problem) implements RankMessage {}

    /** Traffic to each peer that one backend of the rank has sent since it was opened. */
    record Sent(int rank, String backend, List<Link> links) implements RankMessage {
        /** Returns one message for each backend. */
        public static List<Sent> of(int rank, List<EpTraffic> traffic) {
            Map<String, List<Link>> byBackend = traffic.stream()
                    .collect(Collectors.groupingBy(
                            EpTraffic::backend, TreeMap::new, Collectors.mapping(Link::of, Collectors.toList())));
            return byBackend.entrySet().stream()
                    .map(one -> new Sent(rank, one.getKey(), one.getValue()))
                    .toList();
        }
    }

    /** An {@link EpTraffic}, in the words of the JSON. */
    record Link(int peer, int failovers, List<Lane> lanes) {
        private static Link of(EpTraffic traffic) {
            List<Lane> lanes = traffic.lanes().stream()
                    .map(lane -> new Lane(
                            lane.index(),
                            lane.ports(),
                            lane.alive(),
                            lane.bytes(),
                            lane.writes(),
                            lane.signals(),
                            lane.replays()))
                    .toList();
            return new Link(traffic.peer(), traffic.failovers(), lanes);
        }
    }

    /** An {@link EpTraffic.Lane}, in the words of the JSON. */
    record Lane(int lane, String ports, boolean alive, long bytes, long writes, long adds, long replays) {}

    /**
     * The two ranks between which counted writes are measured, and their path.
     *
     * @param backend its id
     * @param from rank that measures
     * @param to rank that answers
     * @param nics ports of {@code from}
     * @param peerNics ports of {@code to}
     * @param lanes channels between the two, as planned
     */
    record Path(String backend, int from, int to, List<String> nics, List<String> peerNics, int lanes)
            implements RankMessage {}

    /**
     * Counted writes of one size, one number a run.
     *
     * @param bytes of a write
     * @param writes of a run that measures the rate
     * @param streamNanos time of such a run
     * @param pings round trips of a run that measures times
     * @param p50Nanos median of half the time of a round trip
     * @param p99Nanos 99th percentile of it
     */
    record Writes(int bytes, int writes, List<Long> streamNanos, int pings, List<Long> p50Nanos, List<Long> p99Nanos)
            implements RankMessage {}

    /** The rank gives up: class and message of the failure, and the exit code that fits it. */
    record Failed(String type, String message, int exitCode) implements RankMessage {}

    default String encode() {
        return MARK + getClass().getSimpleName() + " " + JsonMapper.shared().writeValueAsString(this);
    }

    /** Returns the messages of one type, in the order of the ranks. */
    static <T extends RankMessage> List<T> all(List<List<RankMessage>> messages, Class<T> type) {
        return messages.stream()
                .flatMap(List::stream)
                .filter(type::isInstance)
                .map(type::cast)
                .toList();
    }

    /** Reads a line; empty when it is not a message. */
    static Optional<RankMessage> decode(String line) {
        int blank = line.indexOf(' ');
        if (!line.startsWith(MARK) || blank < 0) {
            return Optional.empty();
        }
        String name = line.substring(MARK.length(), blank);
        return Stream.of(RankMessage.class.getPermittedSubclasses())
                .filter(type -> type.getSimpleName().equals(name))
                .map(type -> (RankMessage) JsonMapper.shared().readValue(line.substring(blank + 1), type))
                .findFirst();
    }
}
