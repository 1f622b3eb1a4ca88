package org.ep4j.tck.soak;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.Capability;
import org.ep4j.tck.TckSubject;

/**
 * The request for a soak.
 *
 * @param subject backend, device and settings
 * @param ranks processes of a group
 * @param faults that are injected, one in each round; drawn evenly
 * @param rounds number of rounds; empty for as many as begin within {@code duration}
 * @param duration after which no round begins; empty for no limit, where {@code rounds} is given
 * @param seed of the first round; round i has seed + i, and is drawn from that, {@code ranks} and {@code faults} alone
 * @param jobs rounds that run at the same time, each with processes of its own
 */
public record SoakRequest(
        TckSubject subject,
        int ranks,
        List<Fault> faults,
        OptionalLong rounds,
        Optional<Duration> duration,
        long seed,
        int jobs) {
    /**
     * Copies the list, and checks all.
     *
     * @throws EpArgumentException when there are no faults or no limit, when ranks, jobs, settings or capabilities do not fit a fault,
     *     or a number is too small
     * @throws org.ep4j.EpConfigException when a value of ep.recover.alone is malformed
     */
    public SoakRequest {
        faults = faults.stream().distinct().sorted().toList();
        if (faults.isEmpty()) {
            throw new EpArgumentException("faults", "none", "at least one", "name one; \"none\" injects nothing");
        }
        for (Fault fault : faults) {
            if (ranks < fault.fewestRanks()) {
                throw new EpArgumentException(
                        "ranks",
                        ranks,
                        ">= " + fault.fewestRanks() + " for the fault " + fault
                                + ", which must leave more than half of the ranks alive",
                        "ask for more ranks, or leave the fault out");
            }
        }
        if (faults.contains(Fault.PARTITION) && ranks != 2) {
            throw new EpArgumentException(
                    "ranks", ranks, "2 with the fault partition", "ask for two ranks, or leave the fault out");
        }
        if (faults.contains(Fault.PARTITION) && recoversAlone(subject)) {
            throw new EpArgumentException(
                    EpKeys.RECOVER_ALONE.name(),
                    true,
                    "false with the fault partition, which checks that no rank recovers alone",
                    "leave the fault out, or unset " + EpKeys.RECOVER_ALONE.name() + ", also in the environment");
        }
        List<String> ignored = subject.settings().keySet().stream()
                .filter(key -> key.startsWith("ep.bootstrap.") || key.equals(EpKeys.FIRST_NUMBER.name()))
                .sorted()
                .toList();
        if (!ignored.isEmpty()) {
            throw new EpArgumentException(
                    "settings",
                    ignored,
                    "settings for anything but the rendezvous, heartbeats and operation numbers, because the soak"
                            + " chooses these itself",
                    "leave the listed settings out");
        }
        if (!subject.declared().contains(Capability.RECOVER)) {
            List<Fault> losses = faults.stream().filter(Fault::needsRecovery).toList();
            if (!losses.isEmpty()) {
                throw new EpArgumentException(
                        "faults",
                        losses,
                        "faults that need no recovery, since " + subject.backend() + " is declared to have no recovery",
                        "leave the listed faults out");
            }
        }
        if (rounds.isEmpty() && duration.isEmpty()) {
            throw new EpArgumentException(
                    "rounds", "not set", "set if no duration is set", "set rounds, a duration, or both");
        }
        if (rounds.isPresent() && rounds.getAsLong() < 1) {
            throw new EpArgumentException("rounds", rounds.getAsLong(), ">= 1", "ask for at least one round");
        }
        if (duration.filter(time -> time.isZero() || time.isNegative()).isPresent()) {
            throw new EpArgumentException(
                    "duration", duration.get(), "> 0", "give a duration that is long enough for at least one round");
        }
        if (faults.contains(Fault.PORT_DOWN) && jobs > 1) {
            throw new EpArgumentException(
                    "jobs",
                    jobs,
                    "1 with the fault port-down",
                    "use one job: rounds that run at the same time could take down all ports of a rank");
        }
        if (jobs < 1) {
            throw new EpArgumentException("jobs", jobs, ">= 1", "give the number of rounds that may run at once");
        }
    }

    /** Returns the value of the setting on the ranks, which also read the environment. */
    private static boolean recoversAlone(TckSubject subject) {
        EpConfig.Builder config = EpConfig.builder();
        String key = EpKeys.RECOVER_ALONE.name();
        if (subject.settings().containsKey(key)) {
            config.set(key, subject.settings().get(key));
        }
        return EpKeys.RECOVER_ALONE.get(config.build());
    }
}
