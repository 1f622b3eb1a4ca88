package org.ep4j.cli.doctor;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.cli.doctor.Examination.Verdict;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.doctor.DoctorInput.Room;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.GpuVendor;

/** An examination with a line for each part of the machine; the parts to be mended come first. */
public record DoctorSummary(Examination examined, String version) {
    private static final String NL = System.lineSeparator();
    private static final String DETAIL = " ".repeat(6);

    /** State of a part of the machine, worst first. */
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
     * @param text the transports that work, or why none does
     * @param mend checks that warn or failed
     * @param missing checks because of which backends cannot be used that the settings do not name and no plan needs
     */
    private record Line(Mark mark, String title, String text, List<Check> mend, List<Check> missing) {}

    public static String of(Examination examined, String version) {
        return new DoctorSummary(examined, version).write();
    }

    private String write() {
        StringBuilder text = new StringBuilder();
        String where = examined.live() ? " on " : ", recording " + examined.source() + ": ";
        text.append(Wrapped.of("", "ep4j " + version + where + examined.hardware()));
        List<Line> lines = lines();
        lines.forEach(line -> write(line, text));
        examined.notes().forEach(note -> text.append(Wrapped.of("[ ! ] ", note)));
        notRun(text);
        long mend = examined.notes().size()
                + lines.stream().mapToLong(line -> line.mend().size()).sum();
        if (mend == 0 && examined.verdict() == Verdict.NOTHING) {
            text.append("No device can be used.");
        } else {
            text.append(mend == 0 ? "Nothing to mend." : mend == 1 ? "1 thing to mend." : mend + " things to mend.");
        }
        text.append(" `./ep doctor --all` shows all ")
                .append(checks())
                .append(" checks.")
                .append(NL);
        return text.toString();
    }

    private List<Line> lines() {
        List<Line> lines = new ArrayList<>();
        for (Subject subject : Subject.values()) {
            // Nothing of a recording says what its network can be used for.
            if (examined.live() || subject != Subject.NETWORK) {
                lines.add(line(subject));
            }
        }
        examined.probes().stream()
                .filter(probe -> Subject.of(probe).isEmpty())
                .collect(Collectors.groupingBy(Probe::name, TreeMap::new, Collectors.toList()))
                .forEach((name, probes) -> lines.add(line(name, probes, List.of(), "", "")));
        lines.sort(Comparator.comparing(Line::mark));
        return lines;
    }

    private static void write(Line line, StringBuilder text) {
        text.append(Wrapped.of(String.format(Locale.ROOT, "%s %-8s ", line.mark().text, line.title()), line.text()));
        Stream.concat(line.mend().stream(), line.missing().stream()).forEach(check -> {
            text.append(Wrapped.of(DETAIL + check.code() + "  ", check.detail()));
            if (!check.remedy().isEmpty()) {
                text.append(Wrapped.of(DETAIL + "-> ", check.remedy()));
            }
        });
    }

    private Line line(Subject subject) {
        List<Probe> probes = examined.probes().stream()
                .filter(probe -> Subject.of(probe).filter(subject::equals).isPresent())
                .toList();
        List<Check> checks = examined.checks().stream()
                .filter(check -> Subject.of(check, examined.hardware()) == subject)
                .toList();
        // The backend of NICs names their ports.
        boolean named = subject == Subject.RDMA && probes.stream().anyMatch(Probe::usable);
        String hardware = named ? "" : subject.of(examined.hardware());
        return line(subject.title, probes, checks, hardware, subject.absence);
    }

    private Line line(String title, List<Probe> probes, List<Check> checks, String hardware, String absence) {
        List<Check> mend = merged(Stream.concat(
                        probes.stream().filter(examined::trouble).flatMap(probe -> probe.checks().stream()),
                        checks.stream())
                .filter(Examination::trouble));
        List<Check> missing = merged(probes.stream()
                .filter(this::missing)
                .flatMap(probe -> probe.checks().stream()
                        .filter(check -> check.status() == Status.FAIL)
                        .limit(1)
                        .map(check -> Check.fail(
                                check.code(), probe.name() + " cannot be used: " + check.detail(), check.remedy()))));
        List<String> usable = probes.stream()
                .filter(probe -> probe.usable() && probe.kind().equals("backend"))
                .map(DoctorSummary::usable)
                .distinct()
                .toList();
        String works = Stream.of(hardware, String.join(", ", usable))
                .filter(part -> !part.isEmpty())
                .collect(Collectors.joining(": "));
        boolean unusable = usable.isEmpty() && probes.stream().anyMatch(examined::trouble);
        if (!mend.isEmpty()) {
            boolean failed = mend.stream().anyMatch(check -> check.status() == Status.FAIL);
            String text = unusable ? (hardware.isEmpty() ? "" : hardware + ": ") + "cannot be used" : works;
            return new Line(failed ? Mark.FAILED : Mark.WARNS, title, text, mend, missing);
        }
        if (!usable.isEmpty() || (!examined.live() && (!hardware.isEmpty() || absence.isEmpty()))) {
            return new Line(Mark.USABLE, title, works.isEmpty() ? "no problems found" : works, mend, missing);
        }
        String text = missing.isEmpty() ? absent(probes, hardware, absence) : hardware;
        return new Line(Mark.ABSENT, title, text, mend, missing);
    }

    /** Returns whether a backend is for this machine, cannot be used, and is no trouble, since others stand in. */
    private boolean missing(Probe probe) {
        return probe.kind().equals("backend")
                && !probe.usable()
                && probe.notApplicable().isEmpty()
                && !examined.trouble(probe);
    }

    /** Merges equal findings into one with all codes; all of them warn or failed. */
    private static List<Check> merged(Stream<Check> checks) {
        record Finding(Status status, String detail, String remedy) {}
        Map<Finding, String> codes = checks.distinct()
                .collect(Collectors.toMap(
                        check -> new Finding(check.status(), check.detail(), check.remedy()),
                        Check::code,
                        (code, other) -> code + ", " + other,
                        LinkedHashMap::new));
        List<Check> merged = new ArrayList<>();
        codes.forEach((finding, code) -> merged.add(
                finding.status() == Status.FAIL
                        ? Check.fail(code, finding.detail(), finding.remedy())
                        : Check.warn(code, finding.detail(), finding.remedy())));
        return merged;
    }

    private static String usable(Probe probe) {
        if (probe.summary().isEmpty()) {
            return "usable (backend " + probe.name() + ")";
        }
        return probe.summary().get() + " ("
                + probe.folder().map(DoctorSummary::free).orElse("backend " + probe.name()) + ")";
    }

    private static String free(String folder) {
        Room room = SharedMemory.room(Path.of(folder));
        return room.bytes() == 0
                ? "no size limit in " + folder
                : String.format(Locale.ROOT, "%.1f GiB free in %s", room.free() / (double) (1L << 30), folder);
    }

    private String absent(List<Probe> probes, String hardware, String absence) {
        List<String> backends = probes.stream()
                .filter(probe -> probe.kind().equals("backend"))
                .map(Probe::name)
                .distinct()
                .toList();
        if (hardware.isEmpty() && !absence.isEmpty()) {
            return backends.isEmpty()
                    ? absence
                    : absence + ": " + String.join(" and ", backends) + (backends.size() == 1 ? " does" : " do")
                            + " not apply";
        }
        Set<String> reasons = new LinkedHashSet<>();
        probes.forEach(probe -> probe.notApplicable().ifPresent(reasons::add));
        return reasons.isEmpty() ? "no backend for this hardware is installed" : String.join("; ", reasons);
    }

    /** Adds the remedies of checks that did not run, such as being root. */
    private void notRun(StringBuilder text) {
        Map<String, Set<String>> codes = new LinkedHashMap<>();
        Stream.concat(examined.checks().stream(), applicable().flatMap(probe -> probe.checks().stream()))
                .filter(check ->
                        check.status() == Status.NOT_RUN && check.remedy().startsWith("run doctor "))
                .forEach(check -> codes.computeIfAbsent(check.remedy(), key -> new LinkedHashSet<>())
                        .add(check.code()));
        codes.forEach((remedy, which) ->
                text.append(Wrapped.of("not checked: ", String.join(", ", which) + "; to check, " + remedy)));
    }

    private Stream<Probe> applicable() {
        return examined.probes().stream().filter(probe -> probe.notApplicable().isEmpty());
    }

    private long checks() {
        return examined.checks().size()
                + applicable().mapToLong(probe -> probe.checks().size()).sum();
    }

    /** Parts of a machine that people know by name; each has a line of its own in the summary. */
    private enum Subject {
        HOST("host", ""),
        NETWORK("network", ""),
        NVIDIA("NVIDIA", "no NVIDIA GPU here"),
        AMD("AMD", "no AMD GPU here"),
        RDMA("RDMA", "no RDMA NIC here");

        private final String title;

        /** Text where there is none of its hardware. */
        private final String absence;

        Subject(String title, String absence) {
            this.title = title;
            this.absence = absence;
        }

        /** Returns the subject of a device or a backend; empty for backends of others. */
        static Optional<Subject> of(Probe probe) {
            return switch (probe.name()) {
                case "host", "host-shm" -> Optional.of(HOST);
                case "efa" -> Optional.of(NETWORK);
                case "cuda", "ipc-nvlink", "nvshmem-ibgda" -> Optional.of(NVIDIA);
                case "hip", "rocm" -> Optional.of(AMD);
                case "ibrc-multiqp" -> Optional.of(RDMA);
                default -> Optional.empty();
            };
        }

        static Subject of(Check check, Hardware hardware) {
            return switch (check.code().substring(0, check.code().lastIndexOf('-'))) {
                case "EP-GPU" -> ofGpus(hardware);
                // What is between GPUs and NICs, or between GPUs where there is no NIC.
                case "EP-PCI" -> hardware.rdmaNics().isEmpty() ? ofGpus(hardware) : RDMA;
                case "EP-IBGDA" -> NVIDIA;
                case "EP-NIC", "EP-GID", "EP-NCCL", "EP-NET" -> RDMA;
                case "EP-GDR" -> check.code().equals("EP-GDR-002") ? NVIDIA : RDMA;
                case "EP-MEM" -> check.code().equals("EP-MEM-002") ? HOST : RDMA;
                case "EP-LIB" ->
                    switch (check.code()) {
                        case "EP-LIB-001", "EP-LIB-003" -> NVIDIA;
                        case "EP-LIB-002" -> AMD;
                        case "EP-LIB-004", "EP-LIB-006" -> RDMA;
                        default -> HOST;
                    };
                default -> HOST;
            };
        }

        private static Subject ofGpus(Hardware hardware) {
            return hardware.gpus().stream()
                    .findFirst()
                    .filter(gpu -> gpu.vendor() == GpuVendor.AMD)
                    .map(gpu -> AMD)
                    .orElse(NVIDIA);
        }

        /** Returns the hardware of a machine; empty where there is none. */
        String of(Hardware hardware) {
            return switch (this) {
                case NVIDIA -> hardware.models(GpuVendor.NVIDIA);
                case AMD -> hardware.models(GpuVendor.AMD);
                case RDMA -> hardware.nics();
                default -> "";
            };
        }
    }
}
