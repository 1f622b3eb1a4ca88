package org.ep4j.examples.moe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.ep4j.Bootstrap;
import org.ep4j.CombinePrecision;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.config.EpKeys;

/**
 * Runs the layer over several ranks and compares it with one rank: {@code [host|cuda] [ranks] [tokens]}. Ranks are threads,
 * unless a launcher has set {@code RANK}.
 */
public final class MoeLayerExample {
    private static final int HIDDEN = 64;
    private static final int EXPERTS = 12;
    private static final int TOP_K = 4;

    private final String device;
    private final int tokens;
    private final Weights weights = Weights.random(HIDDEN, EXPERTS, TOP_K, 1);

    MoeLayerExample(String device, int tokens) {
        this.device = device;
        this.tokens = tokens;
    }

    /** See the class. */
    public static void main(String[] args) throws InterruptedException {
        MoeLayerExample example = new MoeLayerExample(
                args.length > 0 ? args[0] : "host", args.length > 2 ? Integer.parseInt(args[2]) : 32);
        if (System.getenv().containsKey("RANK")) {
            EpConfig config = example.config(example.device);
            System.out.println(example.rank(Bootstrap.fromEnvironment(config), config));
        } else {
            example.threads(args.length > 1 ? Integer.parseInt(args[1]) : 4).forEach(System.out::println);
        }
    }

    /** What one rank found. */
    record Found(int rank, int ranks, Comparison exact, Comparison partial) {
        @Override
        public String toString() {
            return "rank " + rank + " of " + ranks + ": compared with the result on one rank, exact combine differs in "
                    + exact.different() + " elements; rank-partial combine differs in " + partial.different()
                    + " elements, by at most " + partial.largest() + ", and in " + partial.beyond()
                    + " of them by more than rounding explains";
        }
    }

    /** Runs ranks as threads. */
    List<Found> threads(int ranks) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(ranks);
        try {
            List<Future<Found>> ends = new ArrayList<>();
            for (Bootstrap bootstrap : Bootstrap.inProcess(ranks)) {
                // A process has one local rank; threads of it name their devices themselves.
                String own = device.equals("cuda") ? "cuda:" + bootstrap.rank() : device;
                ends.add(threads.submit(() -> rank(bootstrap, config(own))));
            }
            List<Found> found = new ArrayList<>();
            for (Future<Found> end : ends) {
                found.add(end.get());
            }
            return found;
        } catch (ExecutionException e) {
            throw new IllegalStateException("a rank failed: " + e.getCause(), e);
        } finally {
            threads.shutdownNow();
        }
    }

    private EpConfig config(String own) {
        return EpConfig.builder().set(EpKeys.DEVICE.name(), own).build();
    }

    private Found rank(Bootstrap bootstrap, EpConfig config) {
        try (EpGroup group = EpGroup.join(bootstrap, config);
                MoeLayer layer = new MoeLayer(group, weights, tokens)) {
            float[][] mine = inputs(group.rank());
            float[][] exact = layer.forward(mine, CombinePrecision.EXACT);
            float[][] partial = layer.forward(mine, CombinePrecision.RANK_PARTIAL);
            float[][] expected = onOneRank(mine);
            return new Found(
                    group.rank(),
                    group.size(),
                    Comparison.of(weights, mine, exact, expected),
                    Comparison.of(weights, mine, partial, expected));
        }
    }

    /** The same layer on one rank, which holds all experts. On the host: no GPU has a part in it. */
    private float[][] onOneRank(float[][] mine) {
        try (EpGroup alone = EpGroup.join(Bootstrap.inProcess(1).get(0), config("host"));
                MoeLayer layer = new MoeLayer(alone, weights, tokens)) {
            return layer.forward(mine, CombinePrecision.EXACT);
        }
    }

    private float[][] inputs(int rank) {
        SplittableRandom random = new SplittableRandom(100 + rank);
        float[][] rows = new float[tokens][];
        Arrays.setAll(rows, t -> Weights.numbers(random, HIDDEN));
        return rows;
    }
}
