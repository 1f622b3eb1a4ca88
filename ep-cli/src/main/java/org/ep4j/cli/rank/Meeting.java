package org.ep4j.cli.rank;

import java.nio.file.Path;
import java.time.Duration;
import org.ep4j.EpGroup;

/** Where ranks wait for each other before a measurement. It is no part of what is measured. */
@FunctionalInterface
public interface Meeting {
    /**
     * Waits until all ranks have called this.
     *
     * @return when the last of them did, by this process's {@link System#nanoTime}
     */
    long await();

    /**
     * The meeting of a group.
     *
     * @param file shared by all ranks; empty where they are not all on one machine, and then they meet by messages, which lets
     *     them go less sharply, each with a time of its own
     */
    static Meeting of(String file, EpGroup group, Duration deadline) {
        return file.isEmpty()
                ? () -> {
                    group.barrier(deadline);
                    return System.nanoTime();
                }
                : SpinBarrier.open(Path.of(file), group.rank(), group.size(), deadline, group::lostRanks);
    }
}
