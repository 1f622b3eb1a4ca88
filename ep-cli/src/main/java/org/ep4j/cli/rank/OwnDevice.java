package org.ep4j.cli.rank;

import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;

/** The device of a rank where a command names none. */
public final class OwnDevice {
    private OwnDevice() {}

    /**
     * The device that a command names, else the one that the settings of this process name.
     *
     * @param named empty where the command names none
     */
    public static String of(String named, EpConfig config) {
        return named.isEmpty() ? EpKeys.DEVICE.get(config) : named;
    }
}
