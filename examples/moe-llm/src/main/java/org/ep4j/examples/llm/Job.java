package org.ep4j.examples.llm;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What all ranks do, the same on each.
 *
 * @param model folder of the model; empty for a random one
 * @param config its shape
 * @param exchange whether experts are spread over ranks by ep4j; false only with one rank
 * @param device {@code host} or {@code cuda}
 * @param prompts token ids of each prompt
 * @param tokens most tokens to generate for each
 * @param temperature 0 for the most probable token
 * @param seed of the choice otherwise
 * @param batches of a decode step, 1 or 2
 * @param threads of each rank on the host
 * @param halt rank and number of tokens at which it ends as if it were killed
 */
record Job(
        Optional<Path> model,
        ModelConfig config,
        boolean exchange,
        String device,
        List<List<Integer>> prompts,
        int tokens,
        float temperature,
        long seed,
        int batches,
        int threads,
        Optional<Halt> halt) {
    /** A rank that ends itself. */
    record Halt(int rank, int tokens) {}
}
