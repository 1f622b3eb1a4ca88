package org.ep4j.tck.rules;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;

/** Chapter 10. */
public final class StreamRules {
    private StreamRules() {}

    public static List<Rule> all() {
        return List.of(
                rule("10.1", "operations run on stream 0", "stream on=0"),
                rule("10.2", "operations run on stream 1, the legacy stream", "stream on=1"),
                rule("10.3", "operations run on stream 2, the per-thread stream", "stream on=2"),
                rule("10.4", "operations run on a stream that the caller made", "stream on=created"),
                rule("10.5", "operations of one buffer on two streams run one after another", "in-turn"),
                rule(
                        "10.6",
                        "a graph with a high-throughput dispatch and combine can be replayed with other inputs",
                        "graph-high"),
                rule(
                        "10.7",
                        "a graph with a high-throughput dispatch, and a combine that reads rows from the buffer's own memory, can be"
                                + " replayed with other inputs",
                        "graph-high zerocopy",
                        Capability.ZERO_COPY),
                rule(
                        "10.8",
                        "a graph with a low-latency dispatch and combine can be replayed with other inputs",
                        "graph-low"),
                rule(
                        "10.9",
                        "a graph with a low-latency dispatch and combine that use FP8 rows, partial sums, and combine input in the"
                                + " buffer's own memory can be replayed with other inputs",
                        "graph-low format=FP8 precision=RANK_PARTIAL zerocopy",
                        Capability.FP8_WIRE,
                        Capability.RANK_PARTIAL,
                        Capability.ZERO_COPY),
                rule("10.10", "replays of a graph and operations outside the graph take turns", "graph-turns"),
                rule(
                        "10.11",
                        "operations that would wait on the host are refused while a graph is recorded",
                        "graph-refusals"),
                Rule.of(
                                "10.12",
                                "after a rank was killed inside ht-dispatch, the devices of the other ranks still work",
                                FailureScenario.class,
                                "case=kill op=ht-dispatch when=inside victims=1 device",
                                Capability.STREAMS,
                                Capability.BY_EXPERT,
                                Capability.RECOVER)
                        .killing(Set.of(1))
                        .only(RankMode.PROCESSES),
                Rule.of(
                                "10.13",
                                "after a rank was killed inside ll-combine, the devices of the other ranks still work",
                                FailureScenario.class,
                                "case=kill op=ll-combine when=inside victims=1 device",
                                Capability.STREAMS,
                                Capability.BY_EXPERT,
                                Capability.RECOVER)
                        .killing(Set.of(1))
                        .only(RankMode.PROCESSES));
    }

    private static Rule rule(String id, String text, String params, Capability... more) {
        Capability[] needs = java.util.Arrays.copyOf(more, more.length + 1);
        needs[more.length] = Capability.STREAMS;
        return Rule.of(id, text, StreamScenario.class, "case=" + params, needs);
    }
}
