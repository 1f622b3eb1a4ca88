package org.ep4j.topology;

import org.ep4j.EpException;

/** A description of a machine that cannot be understood; the message names source, line and reason. */
public final class TopologyException extends EpException {
    private static final long serialVersionUID = 1L;

    /** With what cannot be understood, where, and why. */
    public TopologyException(String message) {
        super(message);
    }

    /** With the failure below it. */
    public TopologyException(String message, Throwable cause) {
        super(message, cause);
    }
}
