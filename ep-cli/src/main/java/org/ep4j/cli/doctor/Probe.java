package org.ep4j.cli.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;

/**
 * Result of the probe of a device or a backend.
 *
 * @param kind whether it is a device or a backend, in that word
 * @param name type of the device, id of the backend
 * @param devices devices that it was probed for, with the same outcome for all of them
 * @param outcome verdict on it
 * @param asked true when the settings name it, or two such machines would use it for their NICs
 * @param checks its checks, for the first of the devices
 * @param facts what it found, for the planner and for people
 */
record Probe(
        String kind,
        String name,
        List<String> devices,
        Outcome outcome,
        boolean asked,
        List<Check> checks,
        Map<String, String> facts) {
    /** The provider can be loaded and probed. */
    static final String BROKEN = "EP-SPI-001";

    sealed interface Outcome {
        record Usable() implements Outcome {}

        /** It cannot be used, though the hardware for it is here. */
        record Unusable() implements Outcome {}

        /**
         * It is for other hardware, or the settings leave it out.
         *
         * @param reason what is other, for people
         */
        record NotApplicable(String reason) implements Outcome {}
    }

    boolean usable() {
        return outcome instanceof Outcome.Usable;
    }

    /** Returns this probe, marked as needed. */
    Probe needed() {
        return new Probe(kind, name, devices, outcome, true, checks, facts);
    }

    /** Returns this probe for something that is needed and cannot be used: other hardware is then a failure, too. */
    Probe failed() {
        List<Check> failures = checks.stream()
                .map(check -> check.status() == Check.Status.NOT_APPLICABLE
                        ? Check.fail(check.code(), check.detail(), check.remedy())
                        : check)
                .toList();
        return new Probe(kind, name, devices, new Outcome.Unusable(), true, failures, facts);
    }

    /** Returns this probe, also for the devices of another one. */
    Probe and(Probe other) {
        List<String> both = new ArrayList<>(devices);
        both.addAll(other.devices);
        return new Probe(kind, name, both, outcome, asked, checks, facts);
    }

    /** Returns why it is not for this machine; empty where it is. */
    Optional<String> notApplicable() {
        return outcome instanceof Outcome.NotApplicable other ? Optional.of(other.reason()) : Optional.empty();
    }

    /** Returns the folder for files that ranks share. */
    Optional<String> folder() {
        return Optional.ofNullable(facts.get(ProbeReport.FOLDER));
    }

    /** Returns the transport in a few words. */
    Optional<String> summary() {
        return Optional.ofNullable(facts.get(ProbeReport.SUMMARY));
    }

    boolean warns() {
        return checks.stream().anyMatch(check -> check.status() == Check.Status.WARN);
    }
}
