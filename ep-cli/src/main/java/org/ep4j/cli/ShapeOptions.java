package org.ep4j.cli;

import org.ep4j.Device;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options that demo, bench and tune share. */
final class ShapeOptions {
    @Mixin
    ModelOptions model = new ModelOptions();

    @Mixin
    DeviceOption device = new DeviceOption();

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "",
            description = "The only backend that may be used; by default the plan chooses.")
    String backend = "";

    /** Refuses options that no exchange can run with, before any process is started. */
    void check(int ranks, int iterations) {
        ModelOptions.range("--ranks", ranks, 1, LocalRanks.MAX_RANKS, "start at least one rank");
        ModelOptions.range("--iterations", iterations, 1, 1_000_000, "measure at least once");
        model.check();
        Device.parse(device.name());
    }
}
