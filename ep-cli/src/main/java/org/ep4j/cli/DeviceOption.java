package org.ep4j.cli;

import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.cli.rank.WorkSpec;
import picocli.CommandLine.Option;

/** The device of ranks. */
final class DeviceOption {
    @Option(
            names = "--device",
            paramLabel = "D",
            defaultValue = "",
            description = "Device of every rank. Default: the setting ep.device, else host.")
    String given = "";

    /** The option, else the setting of this process. */
    String name() {
        return WorkSpec.device(given, EpConfig.load());
    }

    /** Refuses what names no device. */
    void check() {
        Device.parse(name());
    }

    boolean onHost() {
        return !Device.parse(name()).isGpu();
    }
}
