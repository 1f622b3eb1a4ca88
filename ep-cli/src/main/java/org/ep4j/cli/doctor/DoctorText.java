package org.ep4j.cli.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;

/** Text of an examination. */
public final class DoctorText {
    private static final String NL = System.lineSeparator();

    private final Examination examined;
    private final boolean problemsOnly;
    private final StringBuilder text = new StringBuilder();

    private DoctorText(Examination examined, boolean problemsOnly) {
        this.examined = examined;
        this.problemsOnly = problemsOnly;
    }

    /** The whole text; with {@code problemsOnly} without checks that passed or could not run. */
    public static String of(Examination examined, boolean problemsOnly) {
        return new DoctorText(examined, problemsOnly).write();
    }

    private String write() {
        probes("device", "devices");
        probes("backend", "backends");
        checks();
        examined.notes().forEach(note -> text.append("note: ").append(note).append(NL));
        summary();
        return text.toString();
    }

    private void probes(String kind, String title) {
        List<Probe> shown = examined.probes().stream()
                .filter(probe ->
                        probe.kind().equals(kind) && probe.notApplicable().isEmpty())
                .filter(probe -> !problemsOnly || examined.trouble(probe))
                .toList();
        if (shown.isEmpty()) {
            return;
        }
        text.append(title).append(NL);
        for (Probe probe : shown) {
            text.append("  ").append(probe.name());
            text.append(probe.devices().isEmpty() ? "" : " on " + String.join(", ", probe.devices()));
            text.append(probe.usable() ? ": usable" : ": not usable");
            text.append(probe.usable() || examined.trouble(probe) ? "" : ", and not asked for")
                    .append(NL);
            probe.checks().stream()
                    .filter(check -> !problemsOnly || Examination.trouble(check))
                    .forEach(this::line);
        }
        text.append(NL);
    }

    private void checks() {
        List<Check> shown = examined.checks().stream()
                .filter(check -> check.status() != Status.NOT_APPLICABLE)
                .filter(check -> !problemsOnly || Examination.trouble(check))
                .toList();
        if (!shown.isEmpty()) {
            text.append("machine: ").append(examined.source()).append(NL);
            shown.forEach(this::line);
            text.append(NL);
        }
        if (!problemsOnly) {
            notApplicable();
        }
    }

    private void line(Check check) {
        text.append(String.format("    %-7s  %-11s  %s%n", name(check.status()), check.code(), check.detail()));
        if (!check.remedy().isEmpty()) {
            text.append(" ".repeat(26)).append("-> ").append(check.remedy()).append(NL);
        }
    }

    private static String name(Status status) {
        return status == Status.NOT_RUN ? "NOT RUN" : status.toString();
    }

    /** One line for each reason. */
    private void notApplicable() {
        Map<String, List<String>> byReason = new LinkedHashMap<>();
        for (Probe probe : examined.probes()) {
            probe.notApplicable()
                    .ifPresent(reason -> byReason.computeIfAbsent(reason, r -> new ArrayList<>())
                            .add(probe.kind() + " " + probe.name()
                                    + (probe.kind().equals("device")
                                            ? ""
                                            : " on " + String.join(", ", probe.devices()))));
        }
        examined.checks().stream()
                .filter(check -> check.status() == Status.NOT_APPLICABLE)
                .forEach(check -> byReason.computeIfAbsent(check.detail(), r -> new ArrayList<>())
                        .add(check.code()));
        if (!byReason.isEmpty()) {
            text.append("not applicable here").append(NL);
            byReason.forEach((reason, codes) -> text.append("    ")
                    .append(reason)
                    .append(": ")
                    .append(String.join(", ", codes))
                    .append(NL));
            text.append(NL);
        }
    }

    private void summary() {
        List<Check> all = new ArrayList<>(examined.checks());
        // A backend that the settings do not name and that does not work is no failure.
        examined.probes().stream()
                .filter(probe -> probe.usable() || examined.trouble(probe))
                .forEach(probe -> all.addAll(probe.checks()));
        long others = examined.probes().stream()
                .filter(probe -> probe.notApplicable().isPresent())
                .count();
        text.append(examined.outcome()).append(": ");
        text.append(count(all, Status.PASS)).append(" passed, ");
        text.append(count(all, Status.WARN)).append(" warnings, ");
        text.append(count(all, Status.FAIL)).append(" failed, ");
        text.append(count(all, Status.NOT_RUN)).append(" not run, ");
        text.append(count(all, Status.NOT_APPLICABLE) + others).append(" not applicable");
        List<String> usable = examined.usable();
        text.append(usable.isEmpty() ? "" : "; usable: " + String.join(", ", usable))
                .append(NL);
    }

    private static long count(List<Check> checks, Status status) {
        return checks.stream().filter(check -> check.status() == status).count();
    }
}
