package org.ep4j.cli.doctor;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.doctor.Doctor;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.Printable;

/** An examination for people. */
public final class DoctorText {
    private static final String NL = System.lineSeparator();

    /** As wide as status and code of a check. */
    private static final String CONTINUED = " ".repeat(26);

    private final Examined examined;
    private final Detail detail;
    private final StringBuilder text = new StringBuilder();

    /** How much is told. */
    public enum Detail {
        /** What warns or failed. */
        PROBLEMS,
        /** All but the checks of devices and backends for hardware that is not there, which are named in a line. */
        APPLICABLE,
        /** Every check. */
        ALL
    }

    private DoctorText(Examined examined, Detail detail) {
        this.examined = examined;
        this.detail = detail;
    }

    /** The text. What somebody can do something about comes first in each part of it. */
    public static String of(Examined examined, Detail detail) {
        return new DoctorText(examined, detail).write();
    }

    private String write() {
        probes(Probe.DEVICE, "devices");
        probes(Probe.BACKEND, "backends");
        checks();
        if (detail != Detail.PROBLEMS) {
            notApplicable();
        }
        examined.notes().forEach(note -> say("note: " + note));
        summary();
        return text.toString();
    }

    /** Prints a line. Most of it comes from files and variables: a terminal obeys none, and none of them begins a line. */
    private void say(String line) {
        text.append(line.lines().map(Printable::of).collect(Collectors.joining(NL + CONTINUED)))
                .append(NL);
    }

    private void probes(String kind, String title) {
        List<Probe> shown = examined.probes().stream()
                .filter(probe -> probe.kind().equals(kind))
                .filter(probe -> detail != Detail.PROBLEMS || examined.trouble(probe))
                .filter(probe -> detail == Detail.ALL || probe.applicable())
                .sorted(Comparator.comparing(probe -> !examined.trouble(probe)))
                .toList();
        if (shown.isEmpty()) {
            return;
        }
        say(title);
        for (Probe probe : shown) {
            String devices = probe.devices().isEmpty() ? "" : " on " + String.join(", ", probe.devices());
            String outcome = probe.usable()
                    ? ": usable"
                    : probe.applicable() ? ": not usable" : ": for hardware that is not there";
            say("  " + probe.name() + devices + outcome);
            // In the order in which they were made: later ones hang on those before.
            probe.checks().stream()
                    .filter(check -> detail != Detail.PROBLEMS || Examined.trouble(check))
                    .forEach(this::line);
        }
        say("");
    }

    private void checks() {
        List<Check> shown = examined.checks().stream()
                .filter(check -> !Doctor.notApplicable(check))
                .filter(check -> detail != Detail.PROBLEMS || Examined.trouble(check))
                .sorted(Comparator.comparing(check -> !Examined.trouble(check)))
                .toList();
        if (!shown.isEmpty()) {
            say("machine: " + examined.source());
            shown.forEach(this::line);
            say("");
        }
    }

    private void line(Check check) {
        say(String.format("    %-7s  %-11s  %s", name(check.status()), check.code(), check.detail()));
        if (!check.remedy().isEmpty()) {
            say(CONTINUED + "-> " + check.remedy());
        }
    }

    private static String name(Status status) {
        return status == Status.NOT_RUN ? "NOT RUN" : status.toString();
    }

    /** One line for each reason. */
    private void notApplicable() {
        Map<String, List<String>> byReason = new LinkedHashMap<>();
        examined.checks().stream()
                .filter(Doctor::notApplicable)
                .forEach(check -> byReason.computeIfAbsent(
                                check.detail().replaceFirst("^not applicable here: ", ""), r -> new ArrayList<>())
                        .add(check.code()));
        List<String> others = examined.probes().stream()
                .filter(probe -> !probe.applicable())
                .map(Probe::name)
                .distinct()
                .toList();
        if (!byReason.isEmpty() || (!others.isEmpty() && detail != Detail.ALL)) {
            say("not applicable here");
            if (!others.isEmpty() && detail != Detail.ALL) {
                say("    for hardware that is not there (--all shows what they lack): " + String.join(", ", others));
            }
            byReason.forEach((reason, codes) -> say("    " + reason + ": " + String.join(", ", codes)));
            say("");
        }
    }

    private void summary() {
        List<Check> all = new ArrayList<>(examined.checks());
        long absent = 0;
        for (Probe probe : examined.probes()) {
            for (Check check : probe.checks()) {
                if (probe.applicable() || !Examined.notApplicable(check, false)) {
                    all.add(check);
                } else {
                    absent++;
                }
            }
        }
        long unseen = all.stream().filter(Doctor::notApplicable).count();
        List<String> usable = examined.usable();
        say(examined.outcome() + ": " + count(all, Status.PASS) + " passed, " + count(all, Status.WARN) + " warnings, "
                + count(all, Status.FAIL) + " failed, " + (count(all, Status.NOT_RUN) - unseen) + " not run, "
                + (absent + unseen) + " not applicable"
                + (usable.isEmpty() ? "" : "; usable: " + String.join(", ", usable)));
    }

    private static long count(List<Check> checks, Status status) {
        return checks.stream().filter(check -> check.status() == status).count();
    }
}
