package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;

/** Measures how long one rank of many takes to plan, and to make its tables. Run by {@code ci/plan-bench}. */
final class RankTablesBench {
    private static final int RANKS = 8192;
    private static final int ROUNDS = 5;

    private RankTablesBench() {}

    /**
     * Prints a line for each kind of cluster, and exits with 1 where tables take longer than they may.
     *
     * @param args most seconds for the tables
     */
    public static void main(String[] args) {
        double most = Double.parseDouble(args[0]);
        boolean slow = false;
        System.out.printf(
                Locale.ROOT,
                "%nOne of %d ranks, median of %d, in seconds:%n%8s %8s%n",
                RANKS,
                ROUNDS,
                "plan",
                "tables");
        for (RankTables.Mix mix : RankTables.MIXES) {
            List<RankProfile> profiles = mix.profiles(RANKS);
            List<Double> planning = new ArrayList<>();
            List<Double> tables = new ArrayList<>();
            // The first round does not count.
            for (int round = 0; round <= ROUNDS; round++) {
                long start = System.nanoTime();
                GroupPlan plan = mix.plan(profiles);
                long planned = System.nanoTime();
                RankTables.of(plan, RANKS / 2 + 1);
                long end = System.nanoTime();
                if (round > 0) {
                    planning.add((planned - start) / 1e9);
                    tables.add((end - planned) / 1e9);
                }
            }
            boolean over = median(tables) > most;
            slow |= over;
            System.out.printf(
                    Locale.ROOT,
                    "%8.3f %8.3f  %s%s%n",
                    median(planning),
                    median(tables),
                    mix,
                    over ? ": more than " + most + " s" : "");
        }
        System.exit(slow ? 1 : 0);
    }

    private static double median(List<Double> values) {
        Collections.sort(values);
        return values.get(values.size() / 2);
    }
}
