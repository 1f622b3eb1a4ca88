package org.ep4j.cli;

import org.ep4j.EpException;

/** A rank process that this command had started ended badly. */
final class RankFailedException extends EpException {
    private static final long serialVersionUID = 1L;

    private final int exitCode;

    RankFailedException(String message, int exitCode) {
        super(message);
        this.exitCode = exitCode;
    }

    /** What this command ends with. */
    int exitCode() {
        return exitCode;
    }
}
