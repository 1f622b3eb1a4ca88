package org.ep4j.topology.read;

import java.util.List;

/**
 * Channels of NVIDIA's IMEX service, through which GPUs of one NVLink domain share memory beyond their host. A process without
 * a channel cannot share (NVIDIA's IMEX documentation).
 */
public final class ImexChannels {
    /** Folder of the channels. */
    public static final String FOLDER = "/dev/nvidia-caps-imex-channels";

    private ImexChannels() {}

    /** Names of the channels that a process may use. */
    public static List<String> of(FileTree files) {
        return files.list(FOLDER);
    }
}
