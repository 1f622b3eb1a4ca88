package org.ep4j.cli;

import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.cli.launch.LaunchSpec;
import picocli.CommandLine.Option;

/** Options that demo and bench share. */
final class ShapeOptions {
    @Option(
            names = "--hidden",
            paramLabel = "H",
            defaultValue = "7168",
            description = "Elements of a row, a multiple of 16. Default: ${DEFAULT-VALUE}.")
    int hidden;

    @Option(
            names = "--topk",
            paramLabel = "K",
            defaultValue = "8",
            description = "Experts of a token. Default: ${DEFAULT-VALUE}.")
    int topK;

    @Option(
            names = "--experts",
            paramLabel = "E",
            defaultValue = "256",
            description = "Experts of all ranks together. Default: ${DEFAULT-VALUE}.")
    int experts;

    @Option(
            names = "--device",
            paramLabel = "D",
            defaultValue = "host",
            description = "Device of every rank. Default: ${DEFAULT-VALUE}.")
    String device = "host";

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "",
            description = "Backend that alone may be used; by default the plan chooses.")
    String backend = "";

    /** Made by picocli, too. */
    ShapeOptions() {}

    /** Refuses what no exchange can run with, before any process is started. */
    void check(int ranks, int iterations) {
        range("--ranks", ranks, 1, LaunchSpec.MAX_RANKS, "start at least one rank");
        range("--iterations", iterations, 1, 1_000_000, "measure at least once");
        range("--topk", topK, 1, Math.min(32, experts), "a token goes to different experts, at most 32");
        EpShape.builder(hidden, experts, topK).maxTokens(1).build();
        Device.parse(device);
    }

    /** Refuses a number of tokens that no buffer can be made for. */
    void checkTokens(String option, int tokens) {
        range(option, tokens, 1, EpShape.MAX_TOKENS, "send at least one token");
    }

    private static void range(String name, int value, int min, int max, String fix) {
        if (value < min || value > max) {
            throw new EpArgumentException(name, value, "in [" + min + ", " + max + "]", fix);
        }
    }
}
