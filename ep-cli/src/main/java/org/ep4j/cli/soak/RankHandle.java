package org.ep4j.cli.soak;

import java.util.Optional;

/** A rank as the process that orders it sees it. Safe for use from several threads. */
interface RankHandle extends AutoCloseable {
    /**
     * What came from a rank.
     *
     * @param from whom
     * @param answer empty when its process has ended
     */
    record Event(RankHandle from, Optional<Answer> answer) {}

    /** Number of the rank among all that were started; names its log. */
    int number();

    /** Orders something. */
    void send(Order order);

    /** Kills it at once. */
    void kill();

    /** Stops it where it is. */
    void stop();

    /** Lets it go on. */
    void resume();

    /** How its process ended; for one that runs, that it does. */
    String exit();

    /** Ends it in good order, or kills it. */
    @Override
    void close();
}
