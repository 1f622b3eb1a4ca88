package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 3, training steps whose gradients are of another type than the forward's rows. */
public final class BackwardRules {
    private BackwardRules() {}

    /** The rules. */
    public static List<Rule> all() {
        return List.of(
                byRank(
                        "3.100",
                        "FP8 gradients go out along the routes of BF16 rows",
                        "gradients=FP8_E4M3 tokens=23,0,9 drop=0.3 hidden=336"),
                byRank(
                        "3.101",
                        "BF16 gradients go out along the routes of FP8 rows",
                        "fp8 gradients=BF16 tokens=7,19 drop=0.1 dup=0.3 id64"),
                byRank("3.102", "FP8 gradients where nobody has a token", "gradients=FP8_E4M3 tokens=0"),
                byRank(
                        "3.103",
                        "FP8 gradients where every id is -1",
                        "gradients=FP8_E4M3 drop=1 tokens=12 out",
                        Capability.PREALLOCATED),
                byRank(
                        "3.104",
                        "FP8 gradients of dropped rows are dropped, too",
                        "gradients=FP8_E4M3 overflow recv=13 tokens=17,3,21 dup=0.3 drop=0.2"),
                byRank(
                        "3.105",
                        "FP8 gradients where the caller says, of worst-case size",
                        "gradients=FP8_E4M3 out worst tokens=5,16 routing=zipf:1.5 experts=32 noweights",
                        Capability.PREALLOCATED,
                        Capability.WORST_CASE),
                byRank(
                        "3.106",
                        "asynchronous FP8 gradients, summed from the buffer's own memory",
                        "gradients=FP8_E4M3 async tokens=18 zerocopy",
                        Capability.ASYNC,
                        Capability.ZERO_COPY),
                byExpert(
                        "3.107",
                        "FP8 gradients go out along the routes of BF16 rows, zero in padding",
                        "gradients=FP8_E4M3 align=8 pad tokens=21,0,5 dup=0.3 drop=0.2 hidden=336"),
                byExpert(
                        "3.108",
                        "partial sums of gradients, whose weights come back",
                        "gradients=FP8_E4M3 precision=RANK_PARTIAL data=CANCELLING tokens=18 topk=6 drop=0.1",
                        Capability.RANK_PARTIAL),
                byExpert(
                        "3.109",
                        "BF16 gradients go out along the routes of FP8 rows where the caller says",
                        "fp8 gradients=BF16 out align=4 tokens=1,17",
                        Capability.PREALLOCATED),
                byExpert(
                        "3.110",
                        "FP8 gradients where the caller says, of worst-case size",
                        "gradients=FP8_E4M3 out worst align=4 tokens=14,3,0 drop=0.3 placement=uneven experts=11",
                        Capability.PREALLOCATED,
                        Capability.WORST_CASE,
                        Capability.PLACEMENT),
                byExpert(
                        "3.111",
                        "FP8 gradients where nobody has a token",
                        "gradients=FP8_E4M3 tokens=0 align=4 out",
                        Capability.PREALLOCATED),
                byRank("3.112", "gradients in E5M2 codes, FNUZ", "gradients=FP8_E5M2_FNUZ fnuz tokens=20 drop=0.2"),
                byExpert(
                        "3.113",
                        "gradients in E5M2 codes where the caller says",
                        "gradients=FP8_E5M2 fp8 out align=4 tokens=4,15 hidden=272",
                        Capability.PREALLOCATED));
    }

    private static Rule byRank(String id, String text, String params, Capability... needs) {
        List<Capability> all = new ArrayList<>(List.of(needs));
        all.addAll(List.of(Capability.FP8_ROWS, Capability.CACHED_ROUTING));
        return Rule.of(id, "backward: " + text, BackwardScenario.class, params, all.toArray(Capability[]::new));
    }

    private static Rule byExpert(String id, String text, String params, Capability... needs) {
        List<Capability> all = new ArrayList<>(List.of(needs));
        all.add(Capability.BY_EXPERT);
        return byRank(id, "by expert: " + text, "layout=BY_EXPERT " + params, all.toArray(Capability[]::new));
    }
}
