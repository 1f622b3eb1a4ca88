package org.ep4j.cli;

import picocli.AutoComplete.GenerateCompletion;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** The command without a subcommand. */
@Command(
        name = "ep",
        description =
                "Expert-parallel dispatch and combine for the JVM: try it, measure it, check a backend, start ranks.",
        subcommands = {
            DemoCommand.class,
            BenchCommand.class,
            WritesCommand.class,
            FifoCommand.class,
            ConformanceCommand.class,
            SoakCommand.class,
            ForecastPageCommand.class,
            PlanCommand.class,
            TopoCommand.class,
            DoctorCommand.class,
            RunCommand.class,
            RankCommand.class,
            GenerateCompletion.class
        },
        mixinStandardHelpOptions = true,
        versionProvider = Versions.class,
        scope = ScopeType.INHERIT,
        synopsisSubcommandLabel = "COMMAND",
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:success",
            "1:a check or a validation failed",
            "2:wrong usage, setting or argument",
            "3:something is missing here: a backend, a device, memory, a program or a file",
            "4:a rank failed, was lost, or did not answer in time",
            "5:an error inside ep4j",
        },
        footerHeading = "%n",
        footer = {
            "Settings are read from -Dep.NAME=VALUE (EP_JAVA_OPTS) and from the environment; docs/reference/settings.md lists them."
        })
final class EpCommand implements Runnable {
    @Option(names = "--verbose", description = "Also print the stack trace of a failure.", scope = ScopeType.INHERIT)
    private boolean verbose;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Made by picocli, too. */
    EpCommand() {}

    boolean verbose() {
        return verbose;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Missing required subcommand");
    }
}
