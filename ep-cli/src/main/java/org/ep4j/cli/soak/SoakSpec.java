package org.ep4j.cli.soak;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;

/**
 * What a run does. Together with the version and the machine this repeats it.
 *
 * @param backend that alone may be used
 * @param device of every rank
 * @param ranks of a round
 * @param processes true where ranks are processes, false for threads
 * @param faults that are injected
 * @param seed of everything random
 * @param rounds most rounds; 0 for as many as {@code duration} allows
 * @param duration after which no round begins
 * @param hidden H, 0 to draw it
 * @param tokens most tokens of a rank
 * @param hold longest pause of a rank between dispatch and combine
 * @param counters numbers that operations begin with
 * @param settings of every group
 * @param heartbeatTimeout silence after which a rank is lost, out of the settings
 * @param operationTimeout longest wait of an operation, out of the settings
 * @param setupTimeout longest wait for the others while a group is joined or a buffer is created, out of the settings
 * @param logs folder for what ranks print
 */
public record SoakSpec(
        String backend,
        String device,
        int ranks,
        boolean processes,
        List<Fault> faults,
        long seed,
        int rounds,
        Duration duration,
        int hidden,
        int tokens,
        Duration hold,
        Counters counters,
        Map<String, String> settings,
        Duration heartbeatTimeout,
        Duration operationTimeout,
        Duration setupTimeout,
        Path logs) {
    /** Numbers that the operations of a buffer begin with. */
    public enum Counters {
        /** 0. */
        ZERO,
        /** A little below 2^32, which is crossed. */
        NEAR_2_32,
        /** A little below 2^63, which is not reached. */
        NEAR_2_63,
        /** Each of these in turn. */
        MIXED
    }

    /** Copies the collections. */
    public SoakSpec {
        faults = List.copyOf(faults);
        settings = Map.copyOf(new TreeMap<>(settings));
    }

    /** The settings as a report may have them, sorted, without the secret of the group. */
    public Map<String, String> shownSettings() {
        Map<String, String> shown = new TreeMap<>(settings);
        shown.remove(EpKeys.BOOTSTRAP_SECRET.name());
        return shown;
    }
}
