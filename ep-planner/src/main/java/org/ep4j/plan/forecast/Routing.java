package org.ep4j.plan.forecast;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.ep4j.ExpertPlacement;

/**
 * Probabilities that tokens go to ranks, when all experts are equally popular. Exact: experts of a token are all
 * different.
 */
final class Routing {
    private final Exchange exchange;
    private final ExpertPlacement placement;

    Routing(Exchange exchange, ExpertPlacement placement) {
        this.exchange = exchange;
        this.placement = placement;
    }

    /** Messages of one token to a rank, on average. */
    double messages(int rank, Exchange.Messages kind) {
        return switch (kind) {
            case PER_RANK -> reaches(Set.of(rank));
            case PER_SELECTION -> (double) exchange.topK() * placement.localExperts(rank) / placement.experts();
        };
    }

    /** Probability that a token has an expert on one of these ranks. */
    double reaches(Collection<Integer> ranks) {
        long held = ranks.stream().mapToLong(placement::localExperts).sum();
        if (exchange.groups() <= 1) {
            return 1 - misses(exchange.experts(), (double) held);
        }
        int size = exchange.experts() / exchange.groups();
        Set<Integer> touched = new HashSet<>();
        for (int rank : ranks) {
            for (int expert : placement.expertsOf(rank)) {
                touched.add(Math.min(expert / size, exchange.groups() - 1));
            }
        }
        // Chosen groups among those touched are hypergeometric; each holds its share of the experts in question.
        double each = touched.isEmpty() ? 0 : (double) held / touched.size();
        int chosen = exchange.topGroups();
        double misses = 0;
        for (int hit = 0; hit <= Math.min(chosen, touched.size()); hit++) {
            double probability = choose(touched.size(), hit)
                    * choose(exchange.groups() - touched.size(), chosen - hit)
                    / choose(exchange.groups(), chosen);
            misses += probability * misses((double) chosen * size, hit * each);
        }
        return 1 - misses;
    }

    /** Probability that none of {@code held} among {@code all} experts is drawn. */
    private double misses(double all, double held) {
        double probability = 1;
        for (int drawn = 0; drawn < exchange.topK(); drawn++) {
            probability *= Math.max(0, all - held - drawn) / (all - drawn);
        }
        return probability;
    }

    private static double choose(int of, int number) {
        if (number < 0 || number > of) {
            return 0;
        }
        double ways = 1;
        for (int i = 1; i <= number; i++) {
            ways = ways * (of - number + i) / i;
        }
        return ways;
    }
}
