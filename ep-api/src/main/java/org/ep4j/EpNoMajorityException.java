package org.ep4j;

/**
 * This rank and those that answer it are not more than half of the members of a buffer that are not proved dead, so they may not
 * continue alone: the others may be alive and do so themselves. {@link EpBuffer#recover} can be called again, for example after
 * the process of a rank that does not answer was ended.
 */
public final class EpNoMajorityException extends EpException {
    private static final long serialVersionUID = 1L;

    private final int reached;
    private final int members;

    /**
     * Too few ranks.
     *
     * @param message the whole story, with the ranks that do not answer and why
     * @param reached ranks that would continue, this one among them
     * @param members ranks that are not proved dead; more than half of them have to continue
     */
    public EpNoMajorityException(String message, int reached, int members) {
        super(message);
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
