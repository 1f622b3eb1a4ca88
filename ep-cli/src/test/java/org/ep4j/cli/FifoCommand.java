package org.ep4j.cli;

import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.fifo.FifoBench;
import org.ep4j.cli.fifo.FifoReport;
import org.ep4j.cli.fifo.FifoSpec;
import org.ep4j.cli.report.BenchReport;
import org.ep4j.cli.report.HostFacts;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.cli.report.TextFile;
import org.ep4j.config.EpKeys;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Rate and round trip of commands from a GPU to proxy threads; run by {@code ci/fifo}. */
@Command(
        name = "fifo",
        description = {
            "Measure the command queues (rings) from a GPU to proxy threads on the host: commands per second, and the"
                    + " round trip from a command to its answer. In production, proxy threads post the commands to"
                    + " NICs; here, nothing is posted to a NIC. The consumers are ep4j's proxy threads and, in the"
                    + " same run, the same loop in C++ (built with g++).",
            "The sum over all fields of the consumed commands is compared with the sum over the queued commands."
        })
final class FifoCommand implements Callable<Integer> {
    private static final int LARGEST = 1 << 30;

    @Option(
            names = "--device",
            paramLabel = "DEVICE",
            defaultValue = "cuda",
            description = "What puts commands into the rings: a GPU (cuda or cuda:N), or threads on the host (host)."
                    + " Default: ${DEFAULT-VALUE}.")
    private String device = "";

    @Option(
            names = "--threads",
            paramLabel = "N",
            split = ",",
            defaultValue = "1,2,4,8",
            description = "Numbers of proxy threads, each measured separately. Default: ${DEFAULT-VALUE}.")
    private List<Integer> threads = List.of();

    @Option(
            names = "--rings",
            paramLabel = "N",
            defaultValue = "4",
            description = "Rings per proxy thread. Default: ${DEFAULT-VALUE}.")
    private int rings;

    @Option(
            names = "--ring-commands",
            paramLabel = "N",
            defaultValue = "2048",
            description = "Commands per ring. Default: ${DEFAULT-VALUE}.")
    private String ringCommands = "";

    @Option(
            names = "--producers",
            paramLabel = "N",
            defaultValue = "0",
            description =
                    "Number of threads that put commands into the rings: on a GPU, threads per ring, at most 1024;"
                            + " with --device host, threads for all rings together. 0 means 256 on a GPU, and 1 on"
                            + " the host. Default: ${DEFAULT-VALUE}.")
    private int producers;

    @Option(
            names = "--commands",
            paramLabel = "N",
            defaultValue = "10000000",
            description = "Commands per run. Default: ${DEFAULT-VALUE}.")
    private int commands;

    @Option(
            names = "--repeats",
            paramLabel = "N",
            defaultValue = "5",
            description = "Runs of each measurement. Default: ${DEFAULT-VALUE}.")
    private int repeats;

    @Option(
            names = "--pings",
            paramLabel = "N",
            defaultValue = "200000",
            description = "Number of round trips. Default: ${DEFAULT-VALUE}.")
    private int pings;

    @Option(
            names = "--garbage",
            paramLabel = "MB/S",
            defaultValue = "0",
            description =
                    "Megabytes per second that an extra thread allocates during the measurement, so that the garbage"
                            + " collector has work (EP_JAVA_OPTS=-XX:+UseZGC chooses another collector). Default: ${DEFAULT-VALUE}.")
    private int garbage;

    @Option(
            names = "--native",
            paramLabel = "FILE",
            defaultValue = "",
            description = "Prebuilt library of proxy.cpp to compare with, or the word none to skip the comparison."
                    + " Default: g++ builds the library.")
    private String library = "";

    @Option(names = "--json", paramLabel = "FILE", description = "Write all measurements as JSON to this file.")
    private Optional<Path> json = Optional.empty();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Runs the command, and ends the process with its exit code. */
    public static void main(String[] args) {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        int code = run(out, err, args);
        out.flush();
        err.flush();
        System.exit(code);
    }

    static int run(PrintWriter out, PrintWriter err, String... args) {
        String[] all = Stream.concat(Stream.of("fifo"), Arrays.stream(args)).toArray(String[]::new);
        CommandLine line = new CommandLine(new EpCommand()).addSubcommand(new FifoCommand());
        return Main.configured(line, out, err).execute(all);
    }

    @Override
    public Integer call() {
        FifoSpec work = work();
        json.ifPresent(TextFile::checkFolder);
        Optional<HostFacts> host = json.map(file -> HostFacts.here());
        PrintWriter out = spec.commandLine().getOut();
        FifoReport report;
        try (ProgressView progress = ProgressView.of("fifo", out)) {
            report = new FifoBench(work, progress::step).run();
        }
        report.lines().forEach(out::println);
        out.flush();
        host.ifPresent(facts -> json.ifPresent(file -> report.write(
                file,
                new BenchReport.Environment(
                        Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                        EpCommand.version(),
                        List.copyOf(spec.root().commandLine().getParseResult().originalArgs()),
                        List.of(),
                        work.device().toString(),
                        facts,
                        ManagementFactory.getRuntimeMXBean().getInputArguments(),
                        Optional.empty()))));
        return report.problems().isEmpty() ? ExitCodes.OK : ExitCodes.CHECK_FAILED;
    }

    private FifoSpec work() {
        for (int count : threads) {
            ModelOptions.range("--threads", count, 1, 256, "name numbers in this range");
        }
        ModelOptions.range("--rings", rings, 1, 64, "name a number in this range");
        ModelOptions.range("--producers", producers, 0, 1024, "a GPU block has at most 1024 threads");
        ModelOptions.range("--commands", commands, 1, LARGEST, "measure at least one");
        ModelOptions.range("--repeats", repeats, 1, LARGEST, "measure at least once");
        ModelOptions.range("--pings", pings, 1, 10_000_000, "measure at least one");
        ModelOptions.range("--garbage", garbage, 0, 100_000, "0 allocates nothing");
        return new FifoSpec(
                device(), threads, rings, ringCommands(), producers, commands, repeats, pings, garbage, library);
    }

    private int ringCommands() {
        try {
            return EpKeys.PROXY_RING_COMMANDS.parse(ringCommands);
        } catch (IllegalArgumentException e) {
            throw new EpArgumentException(
                    "--ring-commands", ringCommands, EpKeys.PROXY_RING_COMMANDS.format(), "name such a number", e);
        }
    }

    private Device device() {
        return Device.parse(device);
    }
}
