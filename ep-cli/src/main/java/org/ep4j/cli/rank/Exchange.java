package org.ep4j.cli.rank;

/** One round of dispatch and combine, over and over. */
interface Exchange {
    /**
     * Makes the inputs of the rounds that follow.
     *
     * @param number chooses data and routing
     */
    void prepare(int number);

    /**
     * Runs a round on this rank with the inputs that were prepared last; collective.
     *
     * @param validate true to compare everything that arrives with the reference
     */
    void round(boolean validate);
}
