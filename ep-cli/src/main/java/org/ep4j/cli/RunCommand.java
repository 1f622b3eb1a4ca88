package org.ep4j.cli;

import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ep run}: any command as local ranks. */
@Command(
        name = "run",
        description = {
            "Start a command as N ranks on this machine and wait for them.",
            "Each rank gets torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,"
                    + " MASTER_PORT) and EP_BOOTSTRAP_SECRET. If the environment has no EP_BOOTSTRAP_SECRET, ep"
                    + " chooses a random value. ep prefixes every output line of a rank with [RANK]. Rank 0 reads standard"
                    + " input. If a rank fails, or on Ctrl-C, ep stops the remaining ranks."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every rank ended with exit code 0",
            "2:wrong usage",
            "3:the command could not be started",
            "other:exit code of the rank that failed first; 128 + signal number if a signal ended this rank",
        },
        footerHeading = "%nExample:%n",
        footer = "  ep run -n 4 -- java -cp app.jar com.example.Worker")
final class RunCommand extends Subcommand {
    @Option(
            names = {"-n", "--ranks"},
            required = true,
            paramLabel = "N",
            description = "Number of ranks.")
    private int ranks;

    @Option(
            names = "--master-port",
            paramLabel = "PORT",
            defaultValue = "0",
            description = "Port of the rendezvous; by default a free port.")
    private int masterPort;

    @Option(
            names = "--grace",
            paramLabel = "SECONDS",
            defaultValue = "10",
            description = "Time between asking a rank to end and killing it. Default: ${DEFAULT-VALUE}.")
    private int graceSeconds;

    @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "Program and arguments, after --.")
    private List<String> command = List.of();

    @Override
    int run() {
        LocalRanks.Spec launch = new LocalRanks.Spec(
                ranks, command, masterPort, Duration.ofSeconds(Math.max(0, graceSeconds)), LocalRanks.Input.FIRST_RANK);
        try (LocalRanks started = LocalRanks.start(launch, new PrefixedOutput(spec.commandLine()))) {
            LocalRanks.Exit exit = started.await();
            if (!exit.ok()) {
                spec.commandLine().getErr().println("ep: " + exit.describe() + "; the other ranks were stopped");
            }
            return exit.code();
        }
    }
}
