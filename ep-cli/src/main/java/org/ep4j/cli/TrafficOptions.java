package org.ep4j.cli;

import org.ep4j.cli.rank.ExchangeSpec.Wire;
import picocli.CommandLine.Option;

/** Options for the exchanges of a command. The tokens of the high-throughput mode are the command's own: defaults differ. */
final class TrafficOptions {
    /** Modes, as they are written on the command line. */
    enum Modes {
        /** High throughput. */
        HT,
        /** Low latency. */
        LL,
        BOTH
    }

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "both",
            description = "ht (high throughput), ll (low latency) or both. Default: ${DEFAULT-VALUE}.")
    Modes mode = Modes.BOTH;

    @Option(
            names = "--ll-tokens",
            paramLabel = "T",
            defaultValue = "128",
            description = "Tokens per rank in low-latency mode. Default: ${DEFAULT-VALUE}.")
    int lowLatencyTokens;

    @Option(
            names = "--dtype",
            paramLabel = "TYPE",
            defaultValue = "bf16",
            description = "Type of the rows that dispatches send: bf16 or fp8. Default: ${DEFAULT-VALUE}.")
    Wire dtype = Wire.BF16;
}
