package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.report.TextTable;
import org.ep4j.config.ConfigKey;
import org.ep4j.tck.Capability;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.soak.Fault;
import org.ep4j.tck.soak.Soak;
import org.ep4j.tck.soak.SoakReport;
import org.ep4j.tck.soak.SoakReport.Kind;
import org.ep4j.tck.soak.SoakReport.Problem;
import org.ep4j.tck.soak.SoakReport.Times;
import org.ep4j.tck.soak.SoakRequest;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ep soak}: a long run with injected faults. */
@Command(
        name = "soak",
        description = {
            "Run for minutes or hours with injected faults, and check that nothing hangs, leaks or returns a wrong row.",
            "Rank processes of this machine exchange in both modes with random tokens, routing, layouts and formats, and"
                    + " compare every element. In each round one fault is injected; the ranks that it does not remove"
                    + " must continue, after a recovery if ranks were lost. none: no fault. slow: a rank sleeps up to"
                    + " 20 ms before each exchange. pause: a process is stopped for less than the heartbeat timeout."
                    + " close: ranks close buffer and group up to 600 ms apart. full: ranks ask for a buffer that does"
                    + " not fit into memory; all these requests must be refused, and the ranks continue with the"
                    + " buffer that they have. port-down: one RoCE port of a rank is taken down for up to 2 s. This"
                    + " removes the global IPv6 addresses and static routes of the port's network device. port-down"
                    + " requires CAP_NET_ADMIN, a second port, and network devices without a default route; --faults"
                    + " all does not include it. kill: a process is killed. double-kill: two processes are killed up to"
                    + " 50 ms apart. stop: a process is stopped for longer than the heartbeat timeout, and continues"
                    + " after the others have recovered; this process must then find out that the others excluded it."
                    + " partition: one of two ranks is stopped, and the other must not recover alone; then the stopped"
                    + " rank continues, and at most one of the two may go on alone. partition requires exactly two"
                    + " ranks; --faults all does not include it. reset: a rank's connection to the rendezvous is"
                    + " reset.",
            "Each failed round is printed with the command that repeats it. The run ends after 10 failed rounds."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no hang, no wrong row, no leak, no other failure",
            "1:at least one hang, wrong row, leak or other failure, or no round ran",
            "2:wrong usage, setting or argument",
            "3:the backend is not available here, or the fault of the first round cannot be injected here",
            "5:an error inside ep4j",
        })
final class SoakCommand extends Subcommand {
    private static final ConfigKey<Duration> DURATION =
            ConfigKey.duration("--duration", "1m", "time after which no round begins");
    private static final Duration BETWEEN_LINES = Duration.ofSeconds(10);
    private static final String ALL = "all";
    /** A word that needs no quotes in a shell. */
    private static final Pattern PLAIN = Pattern.compile("[\\w@%+=:,./-]+");

    @Mixin
    private SubjectOptions tested = new SubjectOptions();

    @Option(
            names = "--ranks",
            paramLabel = "N",
            defaultValue = "5",
            description = "Number of rank processes. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--faults",
            paramLabel = "LIST",
            defaultValue = ALL,
            description =
                    "Comma-separated list of faults, or all (every fault but port-down and partition). Faults: none,"
                            + " slow, pause, close, full, port-down, kill, double-kill, stop, partition, reset."
                            + " Default: ${DEFAULT-VALUE}.")
    private String faults = ALL;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Number of rounds. Default: as many as --duration has time for.")
    private Optional<Long> rounds = Optional.empty();

    @Option(
            names = "--duration",
            paramLabel = "TIME",
            description =
                    "Time after which no round begins, for example 30m or 8h. Default: 1m, or no limit with --rounds.")
    private Optional<String> duration = Optional.empty();

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Seed of the first round; it increases by one with each round. Default: random.")
    private Optional<Long> seed = Optional.empty();

    @Option(
            names = "--jobs",
            paramLabel = "N",
            defaultValue = "1",
            description = "Number of rounds that run at the same time, each with its own processes; a larger number is"
                    + " faster if rounds mostly wait, as they do with the fault \"stop\". Default:"
                    + " ${DEFAULT-VALUE}.")
    private int jobs = 1;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "Write the report as JSON to this file every 10 s, so that an interrupted run leaves its"
                    + " results so far.")
    private Optional<Path> json = Optional.empty();

    @Override
    int run() {
        PrintWriter out = out();
        json.ifPresent(TextFile::checkFolder);
        if (ranks < 2) {
            throw new EpArgumentException("--ranks", ranks, ">= 2", "ask for at least two ranks");
        }
        TckSubject subject = tested.subject();
        SoakRequest request = new SoakRequest(
                subject,
                ranks,
                faults(subject),
                rounds.map(OptionalLong::of).orElse(OptionalLong.empty()),
                longest(),
                seed.orElseGet(() -> System.nanoTime() & 0xffff_ffffL),
                jobs);
        out.println("soak of " + subject.backend() + " on " + subject.device() + ": " + ranks + " ranks, faults "
                + list(request.faults()) + ", first seed " + request.seed());
        out.flush();
        SoakReport report = Soak.run(request, new Progress(out, request, json));
        if (report.rounds() == 0) {
            out.println("no round began in time; raise --duration");
        }
        json.ifPresent(file -> TextFile.replace(file, report.toJson(request)));
        out.println();
        out.print(text(report));
        return report.passed() ? ExitCodes.OK : ExitCodes.CHECK_FAILED;
    }

    private Optional<Duration> longest() {
        if (duration.isEmpty() && rounds.isPresent()) {
            return Optional.empty();
        }
        EpConfig.Builder config = EpConfig.builder();
        duration.ifPresent(value -> config.set(DURATION.name(), value));
        return Optional.of(DURATION.get(config.build()));
    }

    /** Returns the faults that are named, or all that so many ranks can have. */
    private List<Fault> faults(TckSubject subject) {
        if (faults.equals(ALL)) {
            return Arrays.stream(Fault.values())
                    .filter(Fault::isInDefaultSet)
                    .filter(fault -> ranks >= fault.fewestRanks())
                    .filter(fault ->
                            !fault.needsRecovery() || subject.declared().contains(Capability.RECOVER))
                    .toList();
        }
        List<Fault> named = new ArrayList<>();
        for (String name : faults.split(",", -1)) {
            named.add(Arrays.stream(Fault.values())
                    .filter(fault -> fault.toString().equals(name.trim()))
                    .findFirst()
                    .orElseThrow(() -> new EpArgumentException(
                            "--faults", name, "all, or some of " + list(List.of(Fault.values())), "correct the name")));
        }
        return named;
    }

    private static String list(List<Fault> faults) {
        return faults.stream().map(Fault::toString).collect(Collectors.joining(","));
    }

    /** Returns the command that repeats one round, for a shell. */
    static String repeat(SoakRequest request, long seed, Map<String, String> environment) {
        StringBuilder text = new StringBuilder();
        Optional.ofNullable(environment.get(Patience.VARIABLE))
                .ifPresent(factor -> text.append(Patience.VARIABLE + "=" + quoted(factor) + " "));
        text.append("./ep soak --backend " + request.subject().backend()
                + " --device " + request.subject().device()
                + " --ranks " + request.ranks()
                + " --faults " + list(request.faults())
                + " --rounds 1 --seed " + seed);
        new TreeMap<>(request.subject().settings())
                .forEach((name, value) -> text.append(" --set ").append(quoted(name + "=" + value)));
        TckSubject whole =
                TckSubject.of(request.subject().backend(), request.subject().device());
        whole.declared().stream()
                .filter(capability -> !request.subject().declared().contains(capability))
                .sorted()
                .forEach(capability -> text.append(" --without ").append(capability));
        return text.toString();
    }

    private static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    private static String text(SoakReport report) {
        StringBuilder text = new StringBuilder();
        TextTable byFault = new TextTable(List.of("fault", "rounds", "failed"));
        Map<Fault, Long> failed = new EnumMap<>(Fault.class);
        report.problems().forEach(problem -> failed.merge(problem.fault(), 1L, Long::sum));
        new TreeMap<>(report.faults())
                .forEach((fault, count) -> byFault.row(List.of(
                        fault.toString(),
                        count.toString(),
                        failed.getOrDefault(fault, 0L).toString())));
        text.append(byFault).append(System.lineSeparator());
        line(text, "exchanges compared: " + report.exchanges());
        line(text, "recoveries: " + times(report.recoveries()));
        if (report.faults().containsKey(Fault.STOP)) {
            line(
                    text,
                    "stopped ranks that continued and found out that they were excluded, and the time from continuing"
                            + " to finding out: "
                            + times(report.learned()));
        }
        if (!report.files().isEmpty()) {
            line(text, "files left in shared memory: " + report.files());
        }
        line(
                text,
                (report.passed() ? "PASSED" : "FAILED") + ", " + report.rounds() + " rounds in "
                        + report.elapsed().toSeconds() + " s: " + counts(report) + ", "
                        + report.files().size() + " files left");
        return text.toString();
    }

    private static String times(Times times) {
        return times.ascending().size()
                + times.quantile(0.5).map(time -> ", median " + millis(time)).orElse("")
                + times.quantile(0.99).map(time -> ", p99 " + millis(time)).orElse("")
                + times.quantile(1).map(time -> ", longest " + millis(time)).orElse("");
    }

    private static String counts(SoakReport report) {
        return report.count(Kind.HANG) + " hangs, " + report.count(Kind.WRONG_ROW) + " with wrong rows, "
                + report.count(Kind.LEAK) + " leaks, " + report.count(Kind.FAILURE) + " other failures";
    }

    private static void line(StringBuilder text, String line) {
        text.append(line).append(System.lineSeparator());
    }

    private static String millis(Duration time) {
        return String.format(Locale.ROOT, "%.0f ms", time.toNanos() / 1e6);
    }

    /** Prints a line now and then, and each problem at once. */
    private static final class Progress implements Consumer<SoakReport> {
        private final PrintWriter out;
        private final SoakRequest request;
        private final Optional<Path> json;
        private Duration last = Duration.ZERO;
        private int problems;
        private boolean unwritten;

        Progress(PrintWriter out, SoakRequest request, Optional<Path> json) {
            this.out = out;
            this.request = request;
            this.json = json.filter(TextFile::keepsText);
        }

        @Override
        public void accept(SoakReport report) {
            for (; problems < report.problems().size(); problems++) {
                Problem problem = report.problems().get(problems);
                out.println("soak: " + problem.kind() + " in a round with " + problem.fault() + "; repeat it: "
                        + repeat(request, problem.seed(), System.getenv()));
                out.println(problem.detail().indent(4).stripTrailing());
            }
            if (report.elapsed().minus(last).compareTo(BETWEEN_LINES) >= 0) {
                last = report.elapsed();
                json.ifPresent(file -> keep(file, report));
                out.println("soak: " + last.toSeconds() + " s, " + report.rounds() + " rounds, " + report.exchanges()
                        + " exchanges, " + report.recoveries().ascending().size() + " with recoveries; "
                        + counts(report));
            }
            out.flush();
        }

        /** Writes the report so far. If that fails now, the run goes on: the last write decides. */
        private void keep(Path file, SoakReport report) {
            try {
                TextFile.replace(file, report.toJson(request));
                unwritten = false;
            } catch (EpUnavailableException e) {
                if (!unwritten) {
                    out.println("soak: " + e.getMessage() + "; the run continues, and tries to write again in 10 s");
                }
                unwritten = true;
            }
        }
    }
}
