package org.ep4j.topology.model;

import org.ep4j.EpException;

/** Failure because the description of a machine cannot be understood; the message names the reason and, where they are known, source and line. */
public final class TopologyException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message that names the reason and, where they are known, source and line. */
    public TopologyException(String message) {
        super(message);
    }

    public TopologyException(String message, Throwable cause) {
        super(message, cause);
    }
}
