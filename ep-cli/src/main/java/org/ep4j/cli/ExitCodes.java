package org.ep4j.cli;

import java.util.List;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfigException;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.report.Figures;
import org.ep4j.topology.model.TopologyException;

/** Exit codes of every command; {@code run} passes its ranks' code on instead. */
final class ExitCodes {
    static final int OK = 0;
    static final int CHECK_FAILED = 1;
    static final int USAGE = 2;
    static final int UNAVAILABLE = 3;
    static final int RANK_FAILED = 4;
    static final int INTERNAL = 5;

    private ExitCodes() {}

    /** A rank process that this command started failed, or the rank reported a failure. */
    static final class RankFailedException extends EpException {
        private static final long serialVersionUID = 1L;

        private final int exitCode;

        RankFailedException(String message, int exitCode) {
            super(message);
            this.exitCode = exitCode;
        }
    }

    /** Returns success only when nothing differed from the reference. */
    static int of(List<Figures> figures) {
        return figures.stream().allMatch(Figures::valid) ? OK : CHECK_FAILED;
    }

    static int of(Throwable failure) {
        if (failure instanceof RankFailedException ranks) {
            return ranks.exitCode;
        }
        if (failure instanceof EpArgumentException
                || failure instanceof EpConfigException
                || failure instanceof TopologyException) {
            return USAGE;
        }
        if (failure instanceof EpUnavailableException || failure instanceof EpResourceException) {
            return UNAVAILABLE;
        }
        if (failure instanceof EpPeerLostException
                || failure instanceof EpTimeoutException
                || failure instanceof EpMismatchException) {
            return RANK_FAILED;
        }
        return failure instanceof EpException ? CHECK_FAILED : INTERNAL;
    }
}
