package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.stream.IntStream;

/** Draws top-k lists. */
final class Router {
    private static final int REDRAWS = 64;

    private final Routing routing;
    private final int experts;
    private final int[] owner;
    private final int[] popularity;
    private final double[] cumulative;

    Router(Routing routing, int[] owner, long seed) {
        this.routing = routing;
        this.experts = owner.length;
        this.owner = owner;
        this.popularity = shuffled(experts, new Mix(Mix.hash(seed)));
        this.cumulative = new double[experts];
        double sum = 0;
        for (int i = 0; i < experts; i++) {
            sum += Math.pow(i + 1, -routing.first());
            cumulative[i] = sum;
        }
    }

    /** Fills {@code out} with distinct experts, or -1 where the routing has no more to offer. */
    void draw(int rank, Mix random, int[] out) {
        Arrays.fill(out, -1);
        int[] pool = pool(rank, random);
        int filled = 0;
        if (routing.kind().equals("to-expert")) {
            out[filled++] = (int) routing.first();
        }
        for (int tries = 0; filled < out.length && tries < REDRAWS * out.length; tries++) {
            int expert = routing.kind().equals("zipf") ? zipf(random) : pool[random.nextInt(pool.length)];
            if (!contains(out, filled, expert)) {
                out[filled++] = expert;
            }
        }
        for (int i = 0; filled < out.length && i < pool.length; i++) {
            if (!contains(out, filled, pool[i])) {
                out[filled++] = pool[i];
            }
        }
    }

    private int[] pool(int rank, Mix random) {
        return switch (routing.kind()) {
            case "to-rank" -> ownedBy((int) routing.first());
            case "local" -> ownedBy(rank);
            case "grouped" -> grouped(random);
            default -> popularity;
        };
    }

    private int[] ownedBy(int rank) {
        int[] owned = IntStream.range(0, experts).filter(e -> owner[e] == rank).toArray();
        return owned.length == 0 ? popularity : owned;
    }

    private int[] grouped(Mix random) {
        int groups = (int) routing.first();
        int[] order = shuffled(groups, random);
        int[] chosen = Arrays.copyOf(order, Math.min(groups, (int) routing.second()));
        int[] members = IntStream.range(0, experts)
                .filter(e -> contains(chosen, chosen.length, (int) ((long) e * groups / experts)))
                .toArray();
        return members.length == 0 ? popularity : members;
    }

    private int zipf(Mix random) {
        double point = random.nextDouble() * cumulative[experts - 1];
        int index = Arrays.binarySearch(cumulative, point);
        return popularity[Math.min(experts - 1, index < 0 ? -index - 1 : index)];
    }

    private static int[] shuffled(int size, Mix random) {
        int[] order = IntStream.range(0, size).toArray();
        for (int i = size - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        return order;
    }

    private static boolean contains(int[] array, int length, int value) {
        for (int i = 0; i < length; i++) {
            if (array[i] == value) {
                return true;
            }
        }
        return false;
    }
}
