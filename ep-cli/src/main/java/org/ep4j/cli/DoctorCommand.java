package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.ep4j.cli.doctor.DoctorJson;
import org.ep4j.cli.doctor.DoctorText;
import org.ep4j.cli.doctor.EnvironmentFile;
import org.ep4j.cli.doctor.Examined;
import org.ep4j.cli.report.TextFile;
import org.ep4j.topology.Printable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ep doctor}: what works on this machine, what does not, and what to do. */
@Command(
        name = "doctor",
        description = {
            "Probe every device and backend, and check for conditions that make transports slow or make them fail.",
            "Every check has a code; docs/reference/doctor.md explains all of them. NOT RUN means that a check could"
                    + " not run here; some checks need root."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no check warns or failed, and, unless a recording was examined, a device besides the host can be used; what is for"
                    + " other hardware, or neither named by the settings nor needed, does not count",
            "1:as 0, but a check warns or failed",
            "2:only the host device can be used, whatever the checks say; also wrong usage, or a recording that cannot be"
                    + " understood",
            "3:a file cannot be written",
            "5:an error inside ep4j",
        })
final class DoctorCommand implements Callable<Integer> {
    private static final String STDOUT = "-";

    @Option(names = "--problems", description = "Show only checks with warnings or failures.")
    private boolean problems;

    @Option(
            names = "--json",
            paramLabel = "OUT",
            arity = "0..1",
            fallbackValue = STDOUT,
            description = "Write everything as JSON to this file; without a file, print it instead of the text.")
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
            description = "With --root: environment variables of a process of that machine, as NAME=VALUE lines or a"
                    + " copy of /proc/PID/environ; without --env, none is set.")
    private Optional<Path> environment = Optional.empty();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Made by picocli. */
    DoctorCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (environment.isPresent() && root.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--env " + environment.get() + " belongs to a recording: give --root DIR too, or set the variables"
                            + " of this process");
        }
        Map<String, String> variables = environment.map(EnvironmentFile::read).orElseGet(Map::of);
        Examined examined =
                root.map(folder -> Examined.recorded(folder, variables)).orElseGet(Examined::here);
        if (json.filter(STDOUT::equals).isPresent()) {
            out.print(DoctorJson.of(examined, problems));
        } else {
            json.ifPresent(name -> TextFile.write(Path.of(name), DoctorJson.of(examined, problems)));
            out.print(Printable.text(DoctorText.of(examined, problems)));
        }
        out.flush();
        return switch (examined.verdict()) {
            case USABLE, CLEAN -> ExitCodes.OK;
            case WARNINGS, PROBLEMS -> ExitCodes.WARNINGS;
            case HOST_ONLY, NOTHING -> ExitCodes.HOST_ONLY;
        };
    }
}
