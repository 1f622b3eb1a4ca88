package org.ep4j;

import org.apiguardian.api.API;

/**
 * Failure because this rank and the ranks that answer it are no majority: they are at most half of the buffer's members
 * that are not proved dead. They cannot continue alone, because the other members may be alive and continue without
 * them. The recourse is {@link EpException.Recourse#REJOIN}; before that, {@link EpBuffer#recover} may be called
 * again after the process of a rank that does not answer was ended, or when that rank answers again.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public final class EpNoMajorityException extends EpException {
    private static final long serialVersionUID = 1L;

    private final int reached;
    private final int members;

    /**
     * Creates the exception with a message and both numbers of ranks.
     *
     * @param message the whole story, with the ranks that do not answer and why
     * @param reached ranks that would continue, this one among them
     * @param members ranks that are not proved dead; more than half of them have to continue
     */
    public EpNoMajorityException(String message, int reached, int members) {
        super(message, Recourse.REJOIN);
        this.reached = reached;
        this.members = members;
    }

    /** The number of ranks that would continue, this one among them. */
    public int reached() {
        return reached;
    }

    /** The number of ranks that are not proved dead; more than half of them have to continue. */
    public int members() {
        return members;
    }
}
