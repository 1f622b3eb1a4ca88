package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 8. */
public final class LimitRules {
    private static final int[] HIDDEN = {16, 64, 80, 128, 2048, 7168, 8192};
    private static final int[] RANKS = {1, 3, 5, 7, 8};

    private LimitRules() {}

    public static List<Rule> all() {
        List<Rule> rules = new ArrayList<>();
        int number = 1;
        for (int hidden : HIDDEN) {
            rules.add(high("8." + number++, "hidden size " + hidden, "rounds=1 tokens=9 hidden=" + hidden));
            rules.add(expert("8." + number++, "hidden size " + hidden, "rounds=1 tokens=9 align=4 hidden=" + hidden));
            rules.add(low("8." + number++, "hidden size " + hidden, "rounds=2 tokens=9 format=FP8 hidden=" + hidden));
        }
        number = 30;
        for (int ranks : RANKS) {
            String rest = "tokens=13,0,7 dup=0.2 max=20 drop=0.1 extra=1";
            rules.add(high("8." + number++, ranks + " ranks", rest).withRanks(ranks));
            rules.add(
                    expert("8." + number++, ranks + " ranks", "align=2 " + rest).withRanks(ranks));
            rules.add(low("8." + number++, ranks + " ranks", rest + " max=80").withRanks(ranks));
        }
        rules.addAll(List.of(
                high("8.50", "top-k 1", "topk=1 tokens=20"),
                low("8.51", "top-k 1", "topk=1 tokens=20"),
                high("8.52", "top-k 32", "topk=32 experts=64 tokens=16 drop=0.1"),
                expert("8.53", "top-k 32", "topk=32 experts=64 tokens=16 align=8"),
                low("8.54", "top-k 32", "topk=32 experts=64 tokens=12 drop=0.1"),
                high("8.55", "one expert", "experts=1 topk=1 tokens=12"),
                low("8.56", "one expert", "experts=1 topk=1 tokens=12"),
                high("8.57", "1024 experts", "experts=1024 topk=8 tokens=24"),
                expert("8.58", "1024 experts", "experts=1024 topk=8 tokens=24 align=2"),
                low("8.59", "1024 experts", "experts=1024 topk=8 tokens=6 hidden=64"),
                high("8.60", "fewer experts than ranks", "experts=3 topk=2 tokens=12")
                        .atLeast(4),
                low("8.61", "fewer experts than ranks", "experts=3 topk=2 tokens=12")
                        .atLeast(4),
                high("8.62", "as many tokens as the shape allows", "tokens=64 max=64"),
                low("8.63", "as many tokens as the shape allows", "tokens=64 max=64"),
                high(
                                "8.64",
                                "as many received rows as the shape allows",
                                "tokens=8 max=8 recv=16 routing=to-rank:0 topk=2")
                        .withRanks(2),
                high("8.65", "there is only one token, on one rank", "tokens=1,0"),
                low("8.66", "there is only one token, on one rank", "tokens=1,0"),
                high("8.67", "many tokens", "rounds=1 tokens=1024 hidden=64 topk=8 experts=64"),
                low("8.68", "many tokens", "rounds=2 tokens=512 hidden=64 topk=8 experts=16")));
        return rules;
    }

    private static Rule high(String id, String text, String params) {
        return Rule.of(id, "high throughput, " + text, Rounds.class, params, Capability.HIGH_THROUGHPUT);
    }

    private static Rule expert(String id, String text, String params) {
        return Rule.of(id, "by expert, " + text, Rounds.class, "layout=BY_EXPERT " + params, Capability.BY_EXPERT);
    }

    private static Rule low(String id, String text, String params) {
        return Rule.of(id, "low latency, " + text, Rounds.class, "low-latency " + params, Capability.FP8_WIRE);
    }
}
