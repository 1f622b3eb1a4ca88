package org.ep4j.cli.doctor;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.doctor.DoctorInput.Room;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.Gpu;

/** An examination in a line for each part of the machine, what is to be mended first. */
public final class DoctorSummary {
    private static final String NL = System.lineSeparator();
    private static final String DETAIL = " ".repeat(6);

    /** How a part of the machine is, worst first. */
    enum Mark {
        FAILED("[ x ]"),
        WARNS("[ ! ]"),
        USABLE("[ok] "),
        ABSENT("[ - ]");

        private final String text;

        Mark(String text) {
            this.text = text;
        }
    }

    /**
     * One part of the machine.
     *
     * @param title its name
     * @param text what works, or why nothing does
     * @param mend checks that warn or failed
     * @param missing backends that the machine could use, and that a group would not need
     */
    private record Line(Mark mark, String title, String text, List<Check> mend, List<String> missing) {}

    private final Examined examined;
    private final String version;

    private DoctorSummary(Examined examined, String version) {
        this.examined = examined;
        this.version = version;
    }

    /** Returns the whole text. */
    public static String of(Examined examined, String version) {
        return new DoctorSummary(examined, version).write();
    }

    private String write() {
        StringBuilder text = new StringBuilder();
        text.append(Wrapped.of(
                "",
                "ep4j " + version + (examined.live() ? " on " : ", recording " + examined.source() + ": ")
                        + examined.hardware()));
        List<Line> lines = new ArrayList<>();
        for (Subject subject : Subject.values()) {
            lines.add(line(subject));
        }
        others().forEach((name, probes) -> lines.add(line(name, probes, List.of(), "")));
        lines.stream().sorted(Comparator.comparing(Line::mark)).forEach(line -> write(line, text));
        examined.notes().forEach(note -> text.append(Wrapped.of("note: ", note)));
        notRun(text);
        long mend = lines.stream().mapToLong(line -> line.mend().size()).sum();
        text.append(mend == 0 ? "Nothing to mend." : mend == 1 ? "1 thing to mend." : mend + " things to mend.");
        text.append(" `./ep doctor --all` shows all ")
                .append(checks())
                .append(" checks.")
                .append(NL);
        return text.toString();
    }

    private static void write(Line line, StringBuilder text) {
        text.append(Wrapped.of(String.format(Locale.ROOT, "%s %-8s ", line.mark().text, line.title()), line.text()));
        line.missing().forEach(one -> text.append(Wrapped.of(DETAIL, one)));
        for (Check check : line.mend()) {
            text.append(Wrapped.of(DETAIL + check.code() + "  ", check.detail()));
            if (!check.remedy().isEmpty()) {
                text.append(Wrapped.of(DETAIL + "-> ", check.remedy()));
            }
        }
    }

    private Line line(Subject subject) {
        List<Gpu> gpus = subject.of(examined.hardware().gpus());
        List<Probe> probes = examined.probes().stream()
                .filter(probe -> Subject.of(probe).filter(subject::equals).isPresent())
                .toList();
        List<Check> checks = examined.checks().stream()
                .filter(check -> Subject.of(check, examined.hardware().gpus()) == subject)
                .toList();
        String hardware = subject == Subject.RDMA && !examined.live()
                ? String.join(", ", examined.hardware().rdmaNics())
                : Hardware.models(gpus);
        Line line = line(subject.title(), probes, checks, hardware);
        return line.mark() == Mark.ABSENT && line.text().isEmpty()
                ? new Line(Mark.ABSENT, line.title(), absent(subject, probes), List.of(), List.of())
                : line;
    }

    /** Backends that are not of this project, by their ids. */
    private Map<String, List<Probe>> others() {
        return examined.probes().stream()
                .filter(probe -> Subject.of(probe).isEmpty())
                .collect(Collectors.groupingBy(Probe::name, TreeMap::new, Collectors.toList()));
    }

    private Line line(String title, List<Probe> probes, List<Check> checks, String hardware) {
        List<Check> mend = Stream.concat(
                        probes.stream().filter(examined::trouble).flatMap(probe -> probe.checks().stream()),
                        checks.stream())
                .filter(Examined::trouble)
                .toList();
        List<String> usable = probes.stream()
                .filter(probe -> probe.usable() && probe.kind().equals("backend"))
                .map(DoctorSummary::usable)
                .distinct()
                .toList();
        String works = Stream.of(hardware, String.join(", ", usable))
                .filter(part -> !part.isEmpty())
                .collect(Collectors.joining(": "));
        List<String> missing = probes.stream()
                .filter(probe -> !examined.trouble(probe))
                .flatMap(DoctorSummary::missing)
                .distinct()
                .toList();
        if (!mend.isEmpty()) {
            boolean failed = mend.stream().anyMatch(check -> check.status() == Status.FAIL);
            Mark mark = failed ? Mark.FAILED : Mark.WARNS;
            return new Line(mark, title, works.isEmpty() ? "cannot be used" : works, mend, missing);
        }
        boolean recorded = !examined.live() && checks.stream().anyMatch(check -> check.status() == Status.PASS);
        if (!usable.isEmpty() || recorded) {
            return new Line(Mark.USABLE, title, works.isEmpty() ? "nothing amiss" : works, mend, missing);
        }
        return new Line(Mark.ABSENT, title, missing.isEmpty() ? "" : "not set up, and not needed here", mend, missing);
    }

    /** What a backend lacks that could be used here. */
    private static Stream<String> missing(Probe probe) {
        return probe.usable()
                        || probe.notApplicable().isPresent()
                        || !probe.kind().equals("backend")
                ? Stream.of()
                : probe.checks().stream()
                        .filter(check -> check.status() == Status.FAIL)
                        .limit(1)
                        .map(check -> "without " + probe.name() + ": " + check.detail() + " (" + check.code() + ")");
    }

    private static String usable(Probe probe) {
        String room = probe.folder().map(folder -> " (" + free(folder) + ")").orElse(" (backend " + probe.name() + ")");
        return probe.summary().map(text -> text + room).orElse(probe.name());
    }

    private static String free(String folder) {
        Room room = BufferNeed.room(java.nio.file.Path.of(folder));
        return String.format(Locale.ROOT, "%.1f GiB free in %s", room.free() / (double) (1L << 30), folder);
    }

    private String absent(Subject subject, List<Probe> probes) {
        List<String> backends = examined.live()
                ? probes.stream()
                        .filter(probe -> probe.kind().equals("backend"))
                        .map(Probe::name)
                        .distinct()
                        .toList()
                : subject.backends();
        if (backends.isEmpty()) {
            return "no backend for it is installed";
        }
        String names = String.join(" and ", backends) + (backends.size() == 1 ? " does" : " do") + " not apply";
        boolean gpus = subject == Subject.NVIDIA || subject == Subject.AMD;
        if (gpus && subject.of(examined.hardware().gpus()).isEmpty()) {
            return "no GPU here: " + names;
        }
        if (subject == Subject.RDMA && examined.hardware().rdmaNics().isEmpty()) {
            return "no NIC here: " + names;
        }
        Set<String> reasons = new LinkedHashSet<>();
        probes.forEach(probe -> probe.notApplicable().ifPresent(reasons::add));
        return reasons.isEmpty() ? names : String.join("; ", reasons);
    }

    /** What somebody could do so that checks run that did not, such as being root. */
    private void notRun(StringBuilder text) {
        Map<String, List<String>> codes = new LinkedHashMap<>();
        Stream.concat(
                        examined.checks().stream(),
                        examined.probes().stream()
                                .filter(probe -> probe.notApplicable().isEmpty())
                                .flatMap(probe -> probe.checks().stream()))
                .filter(check ->
                        check.status() == Status.NOT_RUN && !check.remedy().isEmpty())
                .forEach(check -> codes.computeIfAbsent(check.remedy(), key -> new ArrayList<>())
                        .add(check.code()));
        codes.forEach((remedy, which) ->
                text.append(Wrapped.of("not checked: ", String.join(", ", which) + " -> " + remedy)));
    }

    private long checks() {
        return examined.checks().size()
                + examined.probes().stream()
                        .mapToLong(probe -> probe.checks().size())
                        .sum();
    }
}
