package org.ep4j.cli;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.ep4j.cli.doctor.DoctorJson;
import org.ep4j.cli.doctor.DoctorSummary;
import org.ep4j.cli.doctor.DoctorText;
import org.ep4j.cli.doctor.Examination;
import org.ep4j.cli.report.TextFile;
import org.ep4j.topology.model.Printable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** {@code ep doctor}: what works on this machine, what does not, and what to do. */
@Command(
        name = "doctor",
        description = {
            "Probe every device and backend, and check for conditions that make transports slow or make them fail."
                    + " The command prints one line for each part of the machine, and every problem with its fix."
                    + " With --all, it prints every check.",
            "Every check has a code; ./ep help CODE explains it. NOT RUN means that a check could"
                    + " not run here; some checks need root."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:nothing to mend; a backend does not count if its hardware is not here, or if neither the settings name it"
                    + " nor a plan for this machine uses it",
            "1:a check warned or failed, or no device can be used",
            "2:wrong usage, or a recording that cannot be understood",
            "3:a file cannot be written",
            "5:an error inside ep4j",
        })
final class DoctorCommand extends Subcommand {
    private static final String STDOUT = "-";

    @Option(names = "--all", description = "Print every check.")
    private boolean all;

    @Option(names = "--problems", description = "Print only checks with warnings or failures, in the format of --all.")
    private boolean problems;

    @Option(
            names = "--json",
            paramLabel = "OUT",
            arity = "0..1",
            fallbackValue = STDOUT,
            description = "Write everything as JSON to this file;"
                    + " without a file name, print the JSON instead of the text.")
    private Optional<String> json = Optional.empty();

    @Option(
            names = "--root",
            paramLabel = "DIR",
            description =
                    "Examine a recording of /sys, /proc and other folders instead of this machine; nothing is probed.")
    private Optional<Path> root = Optional.empty();

    @Option(
            names = "--env",
            paramLabel = "FILE",
            description = "With --root: file with the environment variables of a process of the recorded machine, as"
                    + " NAME=VALUE lines or a copy of /proc/PID/environ; without --env, no variable counts as set.")
    private Optional<Path> environment = Optional.empty();

    @Override
    int run() {
        if (environment.isPresent() && root.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--env " + environment.get() + " needs --root DIR, the recording that the variables belong to; to"
                            + " examine this machine, set the variables in the environment of this process");
        }
        if (all && problems) {
            throw new ParameterException(
                    spec.commandLine(), "--all and --problems exclude each other: give one of them");
        }
        Map<String, String> variables = environment.map(Examination::variables).orElseGet(Map::of);
        Examination examined =
                root.map(folder -> Examination.recorded(folder, variables)).orElseGet(Examination::here);
        if (json.filter(STDOUT::equals).isPresent()) {
            out().print(DoctorJson.of(examined, problems));
        } else {
            json.ifPresent(name -> TextFile.write(Path.of(name), DoctorJson.of(examined, problems)));
            out().print(text(examined));
        }
        return switch (examined.verdict()) {
            case USABLE, CLEAN, HOST_ONLY -> ExitCodes.OK;
            case WARNINGS, PROBLEMS, NOTHING -> ExitCodes.CHECK_FAILED;
        };
    }

    private String text(Examination examined) {
        return all || problems
                ? Printable.text(DoctorText.of(examined, problems))
                : colouredMarks(Printable.text(DoctorSummary.of(examined, EpCommand.version())));
    }
}
