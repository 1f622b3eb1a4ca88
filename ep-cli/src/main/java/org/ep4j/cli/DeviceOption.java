package org.ep4j.cli;

import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.cli.rank.ExchangeSpec;
import picocli.CommandLine.Option;

/** The device of ranks. */
final class DeviceOption {
    @Option(
            names = "--device",
            paramLabel = "D",
            defaultValue = "",
            description = "Device of every rank. Default: the setting ep.device, else host.")
    String given = "";

    /** Returns the option, else the setting of this process. */
    String name() {
        return ExchangeSpec.device(given, EpConfig.load());
    }

    boolean onHost() {
        return !Device.parse(name()).isGpu();
    }
}
