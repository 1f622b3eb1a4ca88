package org.ep4j.cli.rank;

/** One round of dispatch and combine, over and over. */
interface Exchange {
    /**
     * Runs a round on this rank; collective.
     *
     * @param round its number, which chooses data and routing
     * @param validate true to compare everything that arrives with the reference
     */
    void round(int round, boolean validate);
}
