package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.report.ConformanceFiles;
import org.ep4j.cli.report.ConformanceTable;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.tck.Conformance;
import org.ep4j.tck.ConformanceReport;
import org.ep4j.tck.ConformanceRequest;
import org.ep4j.tck.Outcome;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.RuleResult;
import org.ep4j.tck.TckSubject;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ep conformance}: the conformance kit against one backend. */
@Command(
        name = "conformance",
        description = {
            "Check a backend against every rule of the conformance kit.",
            "Each rule runs with ranks as threads and with ranks as processes. Under torchrun, mpirun or srun, the"
                    + " ranks are always the processes that the launcher started, and rules that kill ranks are left"
                    + " out. The result of a rule is PASS, FAIL, UNSUPPORTED (the backend does not declare the"
                    + " capability), NOT_APPLICABLE (the rule does not concern this backend or mode), UNAVAILABLE"
                    + " (this machine lacks what the backend needs) or UNTESTED (not possible in this run; the reason"
                    + " is given). EP_TCK_REQUIRE=NAME turns an unavailable backend into a failure.",
            "Problems that concern every rule are reported once, before any rule runs: invalid settings, and ranks"
                    + " between which the backend has no path, for example because they are threads."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every rule that ran passed",
            "1:a rule failed, or none passed",
            "2:wrong usage, setting or argument",
            "3:the backend is not available here",
            "5:an error inside ep4j",
        })
final class ConformanceCommand extends Subcommand {
    enum ModeChoice {
        THREADS,
        PROCESSES,
        /** One after the other. */
        BOTH
    }

    @Mixin
    private SubjectOptions tested = new SubjectOptions();

    @Option(
            names = "--ranks",
            paramLabel = "N",
            defaultValue = "4",
            description = "Number of ranks, for rules that do not set their own number. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "both",
            description =
                    "Run ranks as threads, as processes, or both (one after the other). Default: ${DEFAULT-VALUE}.")
    private ModeChoice mode = ModeChoice.BOTH;

    @Option(
            names = "--jobs",
            paramLabel = "N",
            defaultValue = "1",
            description =
                    "How many rules run at the same time, each with its own rank processes; a larger number is faster"
                            + " if rules wait for devices, and slower if there are more ranks than CPUs. Rules whose"
                            + " ranks are threads always run one after another. Default: ${DEFAULT-VALUE}.")
    private int jobs = 1;

    @Option(
            names = "--rule",
            paramLabel = "REGEX",
            description = "Run only rules whose id matches, for example '3\\..*'.")
    private Optional<String> rule = Optional.empty();

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "Write the results as JSON to this file as they become available, so that an interrupted run"
                    + " keeps its results so far.")
    private Optional<Path> json = Optional.empty();

    @Option(
            names = "--markdown",
            paramLabel = "FILE",
            description = "Write the results as a Markdown table to this file as they become available.")
    private Optional<Path> markdown = Optional.empty();

    @Override
    int run() {
        return LaunchedRanks.runOrServe(System.getenv(), this::check);
    }

    private int check(Optional<LaunchedRanks> launched) {
        PrintWriter out = out();
        if (launched.isPresent()) {
            ranks = launched.get().ranks(spec, ranks);
            boolean given = spec.commandLine().getParseResult().hasMatchedOption("--mode");
            if (given && mode != ModeChoice.PROCESSES) {
                throw new EpArgumentException(
                        "--mode",
                        mode,
                        "processes under a launcher",
                        "leave --mode out, or start one process without a launcher");
            }
            mode = ModeChoice.PROCESSES;
            if (jobs != 1) {
                throw new EpArgumentException(
                        "--jobs",
                        jobs,
                        "1 under a launcher, whose ranks run one rule after another",
                        "leave --jobs out, or start one process without a launcher");
            }
        }
        if (jobs < 1) {
            throw new EpArgumentException("--jobs", jobs, ">= 1", "give the number of rules that may run at once");
        }
        TckSubject subject = tested.subject();
        ConformanceRequest request = new ConformanceRequest(subject, ranks, modes(), rule);
        subject.checkSettings();
        int total = Conformance.rules(request).size() * modes().size();
        if (total == 0) {
            throw new EpArgumentException(
                    "--rule",
                    rule.orElse(""),
                    "a regular expression that matches at least one rule id",
                    "leave --rule out to run all rules");
        }
        out.println("conformance of " + subject.backend() + " on " + subject.device() + ": " + total + " checks, "
                + ranks + " ranks");
        out.flush();
        ConformanceFiles files = new ConformanceFiles(json, markdown, Conformance.environment(request, jobs), total);
        ConformanceReport report;
        try (ProgressView progress = ProgressView.of("conformance", out)) {
            int[] done = {0};
            Consumer<RuleResult> step = result -> {
                done[0]++;
                files.add(result);
                progress.step(done[0], total, result.mode() + " " + result.id() + " " + result.outcome());
                if (result.outcome() == Outcome.FAIL) {
                    progress.note(result.mode() + " " + result.id() + " FAIL after "
                            + result.elapsed().toSeconds() + " s: " + result.shortReason());
                }
            };
            report = launched.isPresent()
                    ? launched.get().conformance(request, step)
                    : Conformance.run(request, jobs, step);
        }
        out.println();
        out.print(ConformanceTable.of(report));
        out.flush();
        files.end(report);
        return exitCode(report);
    }

    private Set<RankMode> modes() {
        return switch (mode) {
            case THREADS -> EnumSet.of(RankMode.THREADS);
            case PROCESSES -> EnumSet.of(RankMode.PROCESSES);
            case BOTH -> EnumSet.allOf(RankMode.class);
        };
    }

    private static int exitCode(ConformanceReport report) {
        if (report.passed()) {
            return ExitCodes.OK;
        }
        boolean missing = report.counts().getOrDefault(Outcome.FAIL, 0) == 0
                && report.counts().getOrDefault(Outcome.UNAVAILABLE, 0) > 0;
        return missing ? ExitCodes.UNAVAILABLE : ExitCodes.CHECK_FAILED;
    }
}
