package org.ep4j.cli.launch;

import java.time.Duration;
import java.util.List;
import org.ep4j.EpArgumentException;

/**
 * What to start.
 *
 * @param ranks number of processes
 * @param command program and arguments, the same for every rank
 * @param masterPort port of the rendezvous; 0 for a free one
 * @param grace time between asking a rank to end and killing it
 * @param input what ranks read from standard input
 */
public record LaunchSpec(int ranks, List<String> command, int masterPort, Duration grace, Input input) {
    /** Most ranks that are started on one machine. */
    public static final int MAX_RANKS = 1024;

    /** What ranks read from standard input. */
    public enum Input {
        /** Rank 0 reads what the launcher would read, the others read nothing. */
        FIRST_RANK,
        /** Nothing comes, but the pipe stays open for as long as the launcher lives, so ranks notice its death. */
        OPEN_UNTIL_DEATH
    }

    /** Checks the numbers. */
    public LaunchSpec {
        if (ranks < 1 || ranks > MAX_RANKS) {
            throw new EpArgumentException(
                    "ranks", ranks, "in [1, " + MAX_RANKS + "]", "start as many ranks as the machine can run");
        }
        if (command.isEmpty()) {
            throw new EpArgumentException("command", "empty", "a program", "name the program after --");
        }
        if (masterPort < 0 || masterPort > 65535) {
            throw new EpArgumentException("masterPort", masterPort, "in [0, 65535]", "0 selects a free port");
        }
    }
}
