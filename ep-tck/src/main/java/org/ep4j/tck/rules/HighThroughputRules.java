package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 3. */
public final class HighThroughputRules {
    private HighThroughputRules() {}

    public static List<Rule> all() {
        return List.of(
                rule(
                        "3.1",
                        "tokens arrive with ids, weights and counts; combine returns the sums of rows and weights",
                        "tokens=33"),
                rule("3.2", "rows arrive with every bit unchanged, NaNs and subnormals too", "data=ANY_BITS tokens=24"),
                rule("3.3", "ranks without tokens take part", "tokens=0,19,0,5"),
                rule("3.4", "an exchange in which no rank has a token", "tokens=0"),
                rule("3.5", "all tokens go to one rank", "routing=to-rank:1 tokens=40 topk=3"),
                rule("3.6", "all tokens have the same first expert", "routing=to-expert:2 tokens=40"),
                rule("3.7", "all tokens stay on their rank", "routing=local tokens=21 topk=3"),
                rule("3.8", "ids of -1 are ignored, even if all ids of a token are -1", "drop=0.6 tokens=40"),
                rule("3.9", "every id is -1", "drop=1 tokens=12"),
                rule("3.10", "an expert that a token's list names twice counts as two selections", "dup=0.5 tokens=30"),
                rule("3.11", "64-bit ids", "id64 drop=0.2 tokens=20"),
                rule("3.12", "no weights in either direction", "noweights noreturn tokens=20"),
                rule("3.13", "skewed routing", "routing=zipf:1.5 tokens=64 experts=32"),
                rule("3.14", "group-limited routing", "routing=grouped:4:2 tokens=48 experts=32 topk=6"),
                rule(
                        "3.15",
                        "the reported number of selections of each expert is rounded up to a multiple of the alignment",
                        "align=16 tokens=20"),
                rule(
                        "3.16",
                        "rows are summed in FP32, in the order in which the ranks of the experts first appear in the top-k list",
                        "data=CANCELLING tokens=24 topk=6 experts=24 hidden=256"),
                rule("3.17", "one bias is added before the rows", "bias=1 tokens=14", Capability.BIAS),
                rule(
                        "3.18",
                        "two biases are added before the rows, in order",
                        "bias=2 data=CANCELLING tokens=14 drop=0.3",
                        Capability.BIAS),
                rule(
                        "3.19",
                        "the result of a token without experts is the sum of its biases",
                        "bias=2 drop=1 tokens=9",
                        Capability.BIAS),
                rule(
                        "3.20",
                        "FP8 rows and scales are carried unchanged",
                        "fp8 tokens=26 hidden=320",
                        Capability.FP8_ROWS),
                rule(
                        "3.21",
                        "cached routing carries other rows along the same routes",
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
                rule(
                        "3.25",
                        "results can be written to tensors that the caller gives",
                        "out tokens=22",
                        Capability.PREALLOCATED),
                rule(
                        "3.26",
                        "FP8 results can be written to tensors that the caller gives",
                        "out fp8 tokens=22",
                        Capability.PREALLOCATED,
                        Capability.FP8_ROWS),
                rule(
                        "3.27",
                        "a combine can read rows from the buffer's own memory",
                        "zerocopy tokens=22",
                        Capability.ZERO_COPY),
                rule(
                        "3.28",
                        "the event of an asynchronous operation signals when the operation is done",
                        "async tokens=22",
                        Capability.ASYNC),
                rule(
                        "3.29",
                        "inputs are read after the events that they depend on",
                        "after tokens=15",
                        Capability.ASYNC),
                rule(
                        "3.30",
                        "asynchronous operations read inputs after the events that the inputs depend on",
                        "async after tokens=15",
                        Capability.ASYNC),
                expert("3.40", "rows grouped by expert", "tokens=33"),
                expert(
                        "3.41",
                        "each expert's group of rows starts at a multiple of the alignment",
                        "align=8 tokens=33"),
                expert("3.42", "padding is zero if the request asks for it", "align=16 pad tokens=21"),
                expert(
                        "3.43",
                        "padding of FP8 rows is zero if the request asks for it",
                        "align=16 pad fp8 tokens=21",
                        Capability.FP8_ROWS),
                expert("3.44", "experts without rows have empty groups", "tokens=1,0 experts=40 align=4"),
                expert("3.45", "duplicate expert ids and ids of -1", "dup=0.4 drop=0.3 tokens=30 align=2"),
                expert("3.46", "exact sums add rows in top-k order", "data=CANCELLING tokens=24 topk=6 hidden=256"),
                expert(
                        "3.47",
                        "partial sums are rounded on the experts' rank",
                        "precision=RANK_PARTIAL data=CANCELLING tokens=24 topk=6 hidden=256",
                        Capability.RANK_PARTIAL),
                expert(
                        "3.48",
                        "partial sums with duplicate expert ids, ids of -1 and biases",
                        "precision=RANK_PARTIAL dup=0.4 drop=0.2 bias=2 tokens=24",
                        Capability.RANK_PARTIAL,
                        Capability.BIAS),
                expert("3.49", "worst-case size", "worst align=4 tokens=14", Capability.WORST_CASE),
                expert("3.50", "cached routing", "cached align=4 tokens=25", Capability.CACHED_ROUTING),
                expert("3.51", "all tokens go to one rank", "routing=to-rank:0 tokens=30 topk=3"),
                expert(
                        "3.52",
                        "results can be written to tensors that the caller gives",
                        "out align=4 tokens=17",
                        Capability.PREALLOCATED),
                expert("3.53", "no weights, 64-bit ids", "noweights noreturn id64 tokens=17"),
                expert(
                        "3.54",
                        "asynchronous operations read inputs after the events that the inputs depend on",
                        "async after tokens=17",
                        Capability.ASYNC),
                rule(
                        "3.60",
                        "the caller chooses the rank of each expert",
                        "placement=stride tokens=25",
                        Capability.PLACEMENT),
                rule(
                        "3.61",
                        "experts are spread unevenly; some ranks have few or none",
                        "placement=uneven experts=11 tokens=25",
                        Capability.PLACEMENT),
                rule("3.62", "one rank has all experts", "placement=last experts=6 tokens=25", Capability.PLACEMENT),
                expert(
                        "3.63",
                        "the caller chooses the rank of each expert",
                        "placement=reverse tokens=25 align=4",
                        Capability.PLACEMENT),
                rule("3.64", "the number of experts is not a multiple of the number of ranks", "experts=7 tokens=25"),
                expert(
                        "3.65",
                        "the number of experts is not a multiple of the number of ranks",
                        "experts=7 tokens=25 align=4"),
                Rule.of(
                        "3.70",
                        "dispatchLayout() counts the tokens that a dispatch would send to each rank, host and expert",
                        LayoutScenario.class,
                        "tokens=31,0,12 dup=0.3 drop=0.3 experts=13",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "3.71",
                        "dispatchLayout() of 64-bit ids, skewed",
                        LayoutScenario.class,
                        "tokens=31 routing=zipf:1.2 id64",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "3.72",
                        "the backward pass of combine is a cached dispatch, and the backward pass of dispatch is a combine",
                        BackwardScenario.class,
                        "tokens=23 drop=0.1",
                        Capability.CACHED_ROUTING),
                Rule.of(
                        "3.73",
                        "by expert: the backward pass of combine is a cached dispatch, and the backward pass of dispatch is a combine",
                        BackwardScenario.class,
                        "tokens=23 dup=0.3 layout=BY_EXPERT align=4",
                        Capability.CACHED_ROUTING,
                        Capability.BY_EXPERT),
                Rule.of(
                        "3.74",
                        "a handle stays valid after later dispatches",
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
                        "FP8 rows of the FNUZ type are carried unchanged, and keep this type",
                        "out fnuz tokens=23 hidden=272",
                        Capability.PREALLOCATED,
                        Capability.FP8_ROWS));
    }

    private static Rule rule(String id, String text, String params, Capability... needs) {
        return Rule.of(id, text, Rounds.class, params, with(needs, Capability.HIGH_THROUGHPUT));
    }

    private static Rule expert(String id, String text, String params, Capability... needs) {
        return Rule.of(
                id,
                "by expert: " + text,
                Rounds.class,
                "layout=BY_EXPERT " + params,
                with(needs, Capability.BY_EXPERT));
    }

    private static Capability[] with(Capability[] needs, Capability base) {
        Capability[] all = java.util.Arrays.copyOf(needs, needs.length + 1);
        all[needs.length] = base;
        return all;
    }
}
