package org.ep4j.cli;

import java.io.PrintWriter;
import java.util.Optional;
import picocli.AutoComplete.GenerateCompletion;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
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
            TuneCommand.class,
            WritesCommand.class,
            ConformanceCommand.class,
            SoakCommand.class,
            PlanCommand.class,
            TopoCommand.class,
            DoctorCommand.class,
            RunCommand.class,
            RankCommand.class,
            HelpCommand.class,
            GenerateCompletion.class
        },
        mixinStandardHelpOptions = true,
        versionProvider = EpCommand.Version.class,
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
            "Settings are read from -Dep.NAME=VALUE (EP_JAVA_OPTS) and from the environment; ./ep help settings lists them."
        })
final class EpCommand implements Runnable {
    private static final String FIRST_STEPS = """

            A mixture-of-experts layer sends each token to the ranks of its top-k experts (dispatch), brings
            the outputs of the experts back and sums them (combine). This command runs both on this machine,
            measures them, and shows which hardware they can use.

              ./ep demo      exchanges tokens between 4 processes, and checks every element that arrives
              ./ep doctor    shows what works on this machine, what needs fixing, and how to fix it
              ./ep bench     measures every operation, and compares it with plain copies and sums of its rows
              ./ep tune      measures which values of a few settings are fastest here, and keeps them
              ./ep topo      shows GPUs, NICs and PCIe switches, and which NIC is near which GPU
              ./ep plan      shows how ranks would reach each other, here or on a cluster that you describe

            ./ep --help             lists all commands, and the exit codes
            ./ep COMMAND --help     lists the options of a command
            ./ep help settings      lists the settings; ./ep help ep.timeout explains one
            """;

    @Option(names = "--verbose", description = "Also print the stack trace of a failure.", scope = ScopeType.INHERIT)
    private boolean verbose;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** The version of this build, from the manifest of its jar. */
    static String version() {
        return Optional.ofNullable(EpCommand.class.getPackage())
                .map(Package::getImplementationVersion)
                .orElse("(unpacked classes)");
    }

    /** Answers {@code --version}. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {
                "ep4j " + version(),
                "Java " + Runtime.version() + " (" + System.getProperty("java.vendor", "") + "), "
                        + System.getProperty("os.name", "") + " " + System.getProperty("os.arch", "")
            };
        }
    }

    boolean verbose() {
        return verbose;
    }

    /** Says what the command is for, and what to try first. */
    @Override
    public void run() {
        PrintWriter out = spec.commandLine().getOut();
        out.println("ep4j " + version() + ": expert-parallel dispatch and combine for the JVM");
        FIRST_STEPS.lines().forEach(out::println);
        out.flush();
    }
}
