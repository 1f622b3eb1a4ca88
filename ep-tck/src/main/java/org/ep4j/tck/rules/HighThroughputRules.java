package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 3. */
public final class HighThroughputRules {
    private HighThroughputRules() {}

    /** The rules. */
    public static List<Rule> all() {
        return List.of(
                rule("3.1", "tokens, ids, weights and counts arrive, and come back summed", "tokens=33"),
                rule("3.2", "rows move bit by bit, NaNs and subnormals too", "data=ANY_BITS tokens=24"),
                rule("3.3", "ranks without tokens take part", "tokens=0,19,0,5"),
                rule("3.4", "an exchange in which nobody has a token", "tokens=0"),
                rule("3.5", "all tokens to one rank", "routing=to-rank:1 tokens=40 topk=3"),
                rule("3.6", "all tokens to one expert first", "routing=to-expert:2 tokens=40"),
                rule("3.7", "all tokens stay on their rank", "routing=local tokens=21 topk=3"),
                rule("3.8", "ids of -1 are left out, also whole tokens of them", "drop=0.6 tokens=40"),
                rule("3.9", "every id is -1", "drop=1 tokens=12"),
                rule("3.10", "an expert twice in a token's list is two selections", "dup=0.5 tokens=30"),
                rule("3.11", "64-bit ids", "id64 drop=0.2 tokens=20"),
                rule("3.12", "no weights in either direction", "noweights noreturn tokens=20"),
                rule("3.13", "skewed routing", "routing=zipf:1.5 tokens=64 experts=32"),
                rule("3.14", "group-limited routing", "routing=grouped:4:2 tokens=48 experts=32 topk=6"),
                rule("3.15", "a reported count is rounded up to the alignment", "align=16 tokens=20"),
                rule(
                        "3.16",
                        "the sum is in FP32, in order of the ranks' first appearance",
                        "data=CANCELLING tokens=24 topk=6 experts=24 hidden=256"),
                rule("3.17", "one bias is added first", "bias=1 tokens=14", Capability.BIAS),
                rule(
                        "3.18",
                        "two biases are added first, in order",
                        "bias=2 data=CANCELLING tokens=14 drop=0.3",
                        Capability.BIAS),
                rule("3.19", "biases come back where a token has no expert", "bias=2 drop=1 tokens=9", Capability.BIAS),
                rule(
                        "3.20",
                        "FP8 rows and scales are carried unchanged",
                        "fp8 tokens=26 hidden=320",
                        Capability.FP8_ROWS),
                rule(
                        "3.21",
                        "cached routing carries other rows the same way",
                        "cached tokens=27 drop=0.1",
                        Capability.CACHED_ROUTING),
                rule(
                        "3.22",
                        "cached routing of FP8 rows",
                        "cached fp8 tokens=18",
                        Capability.CACHED_ROUTING,
                        Capability.FP8_ROWS),
                rule("3.23", "results can have worst-case size", "worst tokens=16 max=20", Capability.WORST_CASE),
                rule(
                        "3.24",
                        "cached routing with worst-case size",
                        "worst cached tokens=16",
                        Capability.WORST_CASE,
                        Capability.CACHED_ROUTING),
                rule("3.25", "results can be put where the caller says", "out tokens=22", Capability.PREALLOCATED),
                rule(
                        "3.26",
                        "FP8 results can be put where the caller says",
                        "out fp8 tokens=22",
                        Capability.PREALLOCATED,
                        Capability.FP8_ROWS),
                rule("3.27", "a combine can read the buffer's own rows", "zerocopy tokens=22", Capability.ZERO_COPY),
                rule("3.28", "asynchronous operations complete by their events", "async tokens=22", Capability.ASYNC),
                rule("3.29", "inputs are read after the events they depend on", "after tokens=15", Capability.ASYNC),
                rule(
                        "3.30",
                        "asynchronous operations read inputs after their events",
                        "async after tokens=15",
                        Capability.ASYNC),
                expert("3.40", "rows grouped by expert", "tokens=33"),
                expert("3.41", "groups start at multiples of the alignment", "align=8 tokens=33"),
                expert("3.42", "padding is zero where asked for", "align=16 pad tokens=21"),
                expert(
                        "3.43",
                        "padding of FP8 rows is zero where asked for",
                        "align=16 pad fp8 tokens=21",
                        Capability.FP8_ROWS),
                expert("3.44", "experts without rows have empty groups", "tokens=1,0 experts=40 align=4"),
                expert("3.45", "duplicates and -1", "dup=0.4 drop=0.3 tokens=30 align=2"),
                expert("3.46", "exact sums are in top-k order", "data=CANCELLING tokens=24 topk=6 hidden=256"),
                expert(
                        "3.47",
                        "partial sums are rounded on the experts' rank",
                        "precision=RANK_PARTIAL data=CANCELLING tokens=24 topk=6 hidden=256",
                        Capability.RANK_PARTIAL),
                expert(
                        "3.48",
                        "partial sums with duplicates, -1 and biases",
                        "precision=RANK_PARTIAL dup=0.4 drop=0.2 bias=2 tokens=24",
                        Capability.RANK_PARTIAL,
                        Capability.BIAS),
                expert("3.49", "worst-case size", "worst align=4 tokens=14", Capability.WORST_CASE),
                expert("3.50", "cached routing", "cached align=4 tokens=25", Capability.CACHED_ROUTING),
                expert("3.51", "all tokens to one rank", "routing=to-rank:0 tokens=30 topk=3"),
                expert("3.52", "results where the caller says", "out align=4 tokens=17", Capability.PREALLOCATED),
                expert("3.53", "no weights, 64-bit ids", "noweights noreturn id64 tokens=17"),
                expert("3.54", "asynchronous", "async after tokens=17", Capability.ASYNC),
                rule("3.60", "experts in any place", "placement=stride tokens=25", Capability.PLACEMENT),
                rule(
                        "3.61",
                        "uneven experts, some ranks with few or none",
                        "placement=uneven experts=11 tokens=25",
                        Capability.PLACEMENT),
                rule("3.62", "one rank with all experts", "placement=last experts=6 tokens=25", Capability.PLACEMENT),
                expert(
                        "3.63",
                        "experts in any place, grouped",
                        "placement=reverse tokens=25 align=4",
                        Capability.PLACEMENT),
                rule("3.64", "E not a multiple of R", "experts=7 tokens=25"),
                expert("3.65", "E not a multiple of R, grouped", "experts=7 tokens=25 align=4"),
                Rule.of(
                        "3.70",
                        "layout() counts where tokens would go",
                        LayoutScenario.class,
                        "tokens=31,0,12 dup=0.3 drop=0.3 experts=13",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "3.71",
                        "layout() of 64-bit ids, skewed",
                        LayoutScenario.class,
                        "tokens=31 routing=zipf:1.2 id64",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "3.72",
                        "the backward of combine is a cached dispatch, of dispatch a combine",
                        BackwardScenario.class,
                        "tokens=23 drop=0.1",
                        Capability.CACHED_ROUTING),
                Rule.of(
                        "3.73",
                        "the same by expert",
                        BackwardScenario.class,
                        "tokens=23 dup=0.3 layout=BY_EXPERT align=4",
                        Capability.CACHED_ROUTING,
                        Capability.BY_EXPERT),
                Rule.of(
                        "3.74",
                        "handles outlive later dispatches",
                        OldHandleScenario.class,
                        "tokens=18",
                        Capability.CACHED_ROUTING),
                Rule.of(
                        "3.75",
                        "a result is stale once the next dispatch begins",
                        StaleScenario.class,
                        "case=ht-dispatch",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "3.76",
                        "a combined result is stale once the next combine begins",
                        StaleScenario.class,
                        "case=ht-combine",
                        Capability.HIGH_THROUGHPUT),
                rule(
                        "3.77",
                        "FP8 rows in FNUZ codes are carried unchanged, as what they are",
                        "out fnuz tokens=23 hidden=272",
                        Capability.PREALLOCATED,
                        Capability.FP8_ROWS),
                rule(
                        "3.80",
                        "rows beyond the room of a rank are dropped, the same in every run",
                        "overflow recv=25 tokens=20 routing=to-rank:1 topk=3 cached",
                        Capability.CACHED_ROUTING),
                rule(
                        "3.81",
                        "dropped rows with duplicates, -1, biases and 64-bit ids",
                        "overflow recv=13 tokens=17,3,21 dup=0.3 drop=0.2 id64 bias=1",
                        Capability.BIAS),
                rule(
                        "3.82",
                        "dropped FP8 rows where the caller says, of worst-case size",
                        "overflow recv=11 tokens=16 fp8 out worst cached",
                        Capability.WORST_CASE,
                        Capability.PREALLOCATED,
                        Capability.FP8_ROWS,
                        Capability.CACHED_ROUTING),
                rule("3.83", "nothing is dropped where all fits", "overflow tokens=15 recv=1000"),
                expert(
                        "3.84",
                        "dropped rows have no selections",
                        "overflow recv=13 tokens=17 dup=0.3 align=4 cached",
                        Capability.CACHED_ROUTING),
                expert(
                        "3.85",
                        "dropped rows and partial sums",
                        "overflow recv=12 tokens=19 topk=6 precision=RANK_PARTIAL",
                        Capability.RANK_PARTIAL),
                expert(
                        "3.86",
                        "FP8 results where the caller says",
                        "out fp8 align=4 worst tokens=17 cached",
                        Capability.PREALLOCATED,
                        Capability.FP8_ROWS,
                        Capability.WORST_CASE,
                        Capability.CACHED_ROUTING),
                Rule.of(
                        "3.87",
                        "waiting is counted for the rank that was late",
                        WaitStatsScenario.class,
                        "mode=high tokens=6",
                        Capability.HIGH_THROUGHPUT,
                        Capability.STATISTICS),
                Rule.of(
                        "3.88",
                        "by expert: waiting is counted for the rank that was late",
                        WaitStatsScenario.class,
                        "mode=high layout=BY_EXPERT tokens=6",
                        Capability.BY_EXPERT,
                        Capability.STATISTICS),
                rule("3.89", "scales arrive in columns", "fp8 columns tokens=21 hidden=320", Capability.FP8_ROWS),
                rule(
                        "3.90",
                        "UE8M0 scales are carried unchanged",
                        "fp8 ue8m0 cached tokens=19 hidden=640",
                        Capability.CACHED_ROUTING,
                        Capability.FP8_ROWS),
                rule(
                        "3.91",
                        "UE8M0 scales in columns where the caller says, of worst-case size",
                        "fp8 ue8m0 columns out worst tokens=13 hidden=336",
                        Capability.PREALLOCATED,
                        Capability.WORST_CASE,
                        Capability.FP8_ROWS),
                expert(
                        "3.92",
                        "scales arrive in columns, zero in padding",
                        "fp8 columns align=16 pad tokens=21 hidden=320",
                        Capability.FP8_ROWS),
                expert(
                        "3.93",
                        "UE8M0 scales in columns where the caller says",
                        "fp8 ue8m0 columns out align=4 tokens=17 cached hidden=336",
                        Capability.PREALLOCATED,
                        Capability.CACHED_ROUTING,
                        Capability.FP8_ROWS));
    }

    private static Rule rule(String id, String text, String params, Capability... needs) {
        return Rule.of(id, text, HighThroughputRounds.class, params, with(needs, Capability.HIGH_THROUGHPUT));
    }

    private static Rule expert(String id, String text, String params, Capability... needs) {
        return Rule.of(
                id,
                "by expert: " + text,
                HighThroughputRounds.class,
                "layout=BY_EXPERT " + params,
                with(needs, Capability.BY_EXPERT));
    }

    private static Capability[] with(Capability[] needs, Capability base) {
        Capability[] all = java.util.Arrays.copyOf(needs, needs.length + 1);
        all[needs.length] = base;
        return all;
    }
}
