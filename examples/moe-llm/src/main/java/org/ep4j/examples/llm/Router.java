package org.ep4j.examples.llm;

/** Chooses the experts of each token. */
final class Router {
    private Router() {}

    /**
     * The experts with the highest scores, and their part of the softmax over all of them.
     *
     * @param router {@code [experts][hidden]}
     * @param x {@code [tokens][hidden]} after RMSNorm
     */
    static Routed route(ModelConfig config, Compute compute, Matrix router, float[] x, int tokens) {
        float[] scores = compute.multiply(router, x, tokens);
        int[] ids = new int[tokens * config.topK()];
        float[] shares = new float[tokens * config.topK()];
        for (int t = 0; t < tokens; t++) {
            choose(config, scores, t * config.experts(), ids, shares, t * config.topK());
        }
        return new Routed(tokens, x, ids, shares);
    }

    private static void choose(ModelConfig config, float[] scores, int from, int[] ids, float[] shares, int to) {
        int experts = config.experts();
        float highest = scores[from];
        for (int e = 1; e < experts; e++) {
            highest = Math.max(highest, scores[from + e]);
        }
        float all = 0;
        for (int e = 0; e < experts; e++) {
            scores[from + e] = (float) Math.exp(scores[from + e] - highest);
            all += scores[from + e];
        }
        float chosen = 0;
        for (int k = 0; k < config.topK(); k++) {
            int best = -1;
            for (int e = 0; e < experts; e++) {
                if (scores[from + e] >= 0 && (best < 0 || scores[from + e] > scores[from + best])) {
                    best = e;
                }
            }
            ids[to + k] = best;
            shares[to + k] = scores[from + best] / all;
            chosen += shares[to + k];
            // Chosen: exponentials are not negative.
            scores[from + best] = -1;
        }
        if (config.normalizeTopK()) {
            for (int k = 0; k < config.topK(); k++) {
                shares[to + k] /= chosen;
            }
        }
    }
}
