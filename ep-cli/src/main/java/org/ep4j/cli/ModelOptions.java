package org.ep4j.cli;

import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import picocli.CommandLine.Option;

/** The model whose tokens are exchanged. */
final class ModelOptions {
    @Option(
            names = "--hidden",
            paramLabel = "H",
            defaultValue = "7168",
            description = "Elements per row, a multiple of 16. Default: ${DEFAULT-VALUE}.")
    int hidden;

    @Option(
            names = "--topk",
            paramLabel = "K",
            defaultValue = "8",
            description = "Experts per token. Default: ${DEFAULT-VALUE}.")
    int topK;

    @Option(
            names = "--experts",
            paramLabel = "E",
            defaultValue = "256",
            description = "Number of experts on all ranks together. Default: ${DEFAULT-VALUE}.")
    int experts;

    /** Refuses a model that no exchange can run with. */
    void check() {
        range(
                "--topk",
                topK,
                1,
                Math.min(EpShape.MAX_TOP_K, experts),
                "the experts of a token are distinct: give at most the number in --experts, and at most 32");
        EpShape.builder(hidden, experts, topK).maxTokens(1).build();
    }

    /** Refuses a number of tokens that no buffer can be made for. */
    static void checkTokens(String option, int tokens) {
        range(option, tokens, 1, EpShape.MAX_TOKENS, "name a number in this range");
    }

    static void range(String name, int value, int min, int max, String fix) {
        if (value < min || value > max) {
            throw new EpArgumentException(name, value, "in [" + min + ", " + max + "]", fix);
        }
    }
}
