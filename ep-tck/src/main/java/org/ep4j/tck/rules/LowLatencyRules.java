package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 4. */
public final class LowLatencyRules {
    private LowLatencyRules() {}

    public static List<Rule> all() {
        return List.of(
                rule(
                        "4.1",
                        "tokens arrive packed by expert; combine returns the weighted sums of the experts' rows",
                        "tokens=16"),
                rule("4.2", "rows arrive with every bit unchanged, NaNs and subnormals too", "data=ANY_BITS tokens=16"),
                rule("4.3", "ranks without tokens take part", "tokens=0,11,0,5"),
                rule("4.4", "an exchange in which no rank has a token", "tokens=0 max=4"),
                rule("4.5", "all tokens go to one rank", "routing=to-rank:1 tokens=16 topk=3"),
                rule("4.6", "all tokens have the same first expert", "routing=to-expert:1 tokens=16"),
                rule("4.7", "all tokens stay on their rank", "routing=local tokens=12 topk=3"),
                rule("4.8", "ids of -1 are ignored, even if all ids of a token are -1", "drop=0.6 tokens=16"),
                rule("4.9", "every id is -1", "drop=1 tokens=6"),
                rule(
                        "4.10",
                        "an expert that a token's list names twice counts as two selections",
                        "dup=0.5 tokens=16 max=64"),
                rule("4.11", "64-bit ids", "id64 drop=0.2 tokens=13"),
                rule("4.12", "skewed routing", "routing=zipf:1.5 tokens=16 experts=32"),
                rule("4.13", "fewer tokens than the shape allows", "tokens=5,16,1 max=16"),
                rule(
                        "4.14",
                        "rows are summed by fused multiply-add, in top-k order",
                        "data=CANCELLING tokens=16 topk=6 experts=24 hidden=256 unit"),
                rule("4.15", "weights and rows of every magnitude", "data=CANCELLING tokens=16 topk=6 hidden=256"),
                Rule.of(
                        "4.16",
                        "products are not rounded before they are added",
                        FusedScenario.class,
                        "tokens=8 topk=2 experts=8",
                        Capability.LOW_LATENCY),
                rule(
                        "4.17",
                        "weights can be given to the dispatch instead of the combine",
                        "weights=dispatch tokens=12"),
                rule("4.18", "weights of the combine override weights of the dispatch", "weights=both tokens=12"),
                fp8("4.20", "FP8 rows with FP32 scales", "format=FP8 tokens=16"),
                fp8("4.21", "FP8 rows with power-of-two scales", "format=FP8_POW2 tokens=16"),
                fp8("4.22", "FP8 rows with UE8M0 scales", "format=FP8_UE8M0 tokens=16 hidden=640"),
                fp8("4.23", "FP8 rows whose last block is short", "format=FP8 tokens=9 hidden=336"),
                fp8(
                        "4.24",
                        "FP8 rows whose last block is short, with UE8M0 scales",
                        "format=FP8_UE8M0 tokens=9 hidden=80"),
                fp8("4.25", "FP8 rows of tiny and cancelling values", "format=FP8 data=CANCELLING tokens=9 hidden=256"),
                fp8(
                        "4.26",
                        "FP8 with duplicate expert ids and ids of -1",
                        "format=FP8_POW2 dup=0.3 drop=0.3 tokens=12 max=48"),
                rule(
                        "4.30",
                        "partial sums are rounded on the experts' rank",
                        "precision=RANK_PARTIAL data=CANCELLING unit tokens=16 topk=6 hidden=256",
                        Capability.RANK_PARTIAL),
                rule(
                        "4.31",
                        "partial sums with duplicate expert ids and ids of -1",
                        "precision=RANK_PARTIAL dup=0.4 drop=0.2 tokens=14 max=64",
                        Capability.RANK_PARTIAL),
                rule(
                        "4.32",
                        "partial sums after an FP8 dispatch",
                        "precision=RANK_PARTIAL format=FP8 tokens=14",
                        Capability.RANK_PARTIAL,
                        Capability.FP8_WIRE),
                rule(
                        "4.33",
                        "combine in LogFMT is right within half a quantization level",
                        "logfmt data=BELOW_ONE tokens=12 hidden=512",
                        Capability.LOGFMT),
                rule(
                        "4.34",
                        "LogFMT leaves blocks with a magnitude of 1 or more unchanged",
                        "logfmt data=PLAIN tokens=12 hidden=512",
                        Capability.LOGFMT),
                rule(
                        "4.35",
                        "LogFMT of partial sums",
                        "logfmt precision=RANK_PARTIAL data=BELOW_ONE tokens=12 hidden=256",
                        Capability.LOGFMT,
                        Capability.RANK_PARTIAL),
                rule(
                        "4.36",
                        "LogFMT rows whose last block is short",
                        "logfmt data=BELOW_ONE tokens=7 hidden=208",
                        Capability.LOGFMT),
                rule(
                        "4.37",
                        "rows are not rounded if the request does not ask for LogFMT",
                        "data=BELOW_ONE tokens=12 hidden=256"),
                rule("4.40", "send now, receive later", "hook tokens=14", Capability.HOOK),
                rule(
                        "4.41",
                        "send now, receive later, with FP8 rows and partial sums",
                        "hook format=FP8 precision=RANK_PARTIAL tokens=14",
                        Capability.HOOK,
                        Capability.FP8_WIRE,
                        Capability.RANK_PARTIAL),
                Rule.of(
                        "4.42",
                        "sending does not wait for the receivers, so other work can run between sending and receiving",
                        HookScenario.class,
                        "case=overlap tokens=10",
                        Capability.HOOK),
                Rule.of(
                        "4.43",
                        "two operations can be sent before the first is received",
                        HookScenario.class,
                        "case=two tokens=10",
                        Capability.HOOK),
                Rule.of(
                        "4.44",
                        "receive() is refused if it was called before, or if the request did not ask for the hook",
                        HookScenario.class,
                        "case=misuse tokens=10",
                        Capability.HOOK),
                Rule.of(
                        "4.45",
                        "a handle can be closed between the send and the receive() of its operation",
                        HookScenario.class,
                        "case=closed tokens=10",
                        Capability.HOOK),
                rule(
                        "4.50",
                        "results can be written to tensors that the caller gives",
                        "out tokens=12",
                        Capability.PREALLOCATED),
                rule(
                        "4.51",
                        "FP8 results and scales can be written to tensors that the caller gives",
                        "out format=FP8 tokens=12",
                        Capability.PREALLOCATED,
                        Capability.FP8_WIRE),
                rule(
                        "4.52",
                        "FP8 results and their UE8M0 scales can be written to tensors that the caller gives",
                        "out format=FP8_UE8M0 tokens=12",
                        Capability.PREALLOCATED,
                        Capability.FP8_WIRE),
                rule(
                        "4.53",
                        "a combine can send rows from the buffer's own memory",
                        "zerocopy tokens=12 rounds=4",
                        Capability.ZERO_COPY),
                rule(
                        "4.54",
                        "zero copy with LogFMT rows",
                        "zerocopy logfmt data=BELOW_ONE tokens=8",
                        Capability.ZERO_COPY,
                        Capability.LOGFMT),
                rule("4.55", "received selections are counted", "stats drop=0.2 tokens=12", Capability.STATISTICS),
                Rule.of(
                        "4.56",
                        "time spent waiting is charged to the rank that was late",
                        WaitStatsScenario.class,
                        "tokens=6",
                        Capability.STATISTICS),
                rule(
                        "4.57",
                        "the event of an asynchronous operation signals when the operation is done",
                        "async tokens=12",
                        Capability.ASYNC),
                rule(
                        "4.58",
                        "inputs are read after the events that they depend on",
                        "after tokens=9",
                        Capability.ASYNC),
                rule(
                        "4.59",
                        "asynchronous operations read inputs after the events that the inputs depend on",
                        "async after tokens=9",
                        Capability.ASYNC),
                Rule.of(
                        "4.60",
                        "two results are valid at a time; a third makes the first stale",
                        StaleScenario.class,
                        "case=ll-dispatch tokens=9",
                        Capability.LOW_LATENCY),
                Rule.of(
                        "4.61",
                        "two combined results are valid at a time; a third makes the first stale",
                        StaleScenario.class,
                        "case=ll-combine tokens=9",
                        Capability.LOW_LATENCY),
                rule(
                        "4.70",
                        "the caller chooses the rank of each expert",
                        "placement=stride tokens=14",
                        Capability.PLACEMENT),
                rule(
                        "4.71",
                        "experts are spread unevenly; some ranks have few or none",
                        "placement=uneven experts=11 tokens=14",
                        Capability.PLACEMENT),
                rule("4.72", "one rank has all experts", "placement=last experts=6 tokens=14", Capability.PLACEMENT),
                rule("4.73", "the number of experts is not a multiple of the number of ranks", "experts=7 tokens=14"));
    }

    private static Rule rule(String id, String text, String params, Capability... needs) {
        return Rule.of(id, text, Rounds.class, "low-latency " + params, with(needs, Capability.LOW_LATENCY));
    }

    private static Rule fp8(String id, String text, String params) {
        return rule(id, text, params, Capability.FP8_WIRE);
    }

    private static Capability[] with(Capability[] needs, Capability base) {
        Capability[] all = java.util.Arrays.copyOf(needs, needs.length + 1);
        all[needs.length] = base;
        return all;
    }
}
