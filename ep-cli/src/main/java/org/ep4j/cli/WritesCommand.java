package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.WriteSpec;
import org.ep4j.cli.report.FigureTable;
import org.ep4j.cli.report.HostFacts;
import org.ep4j.cli.report.TextFile;
import org.ep4j.cli.report.WriteReport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code ep writes}: rate and time of counted writes between two ranks, as perftest measures those of a NIC. */
@Command(
        name = "writes",
        description = {
            "Measure counted writes, the primitive of dispatch and combine, between the first two ranks that the plan"
                    + " joins by HOST_POSTED paths in both directions (host threads post to NICs). Under torchrun, mpirun"
                    + " or srun, the processes that the launcher started are the ranks.",
            "MB/s (1e6 bytes) is the rate of writes to one address, with a counter update after every"
                    + " --writes-per-counter writes, timed until all writes are acknowledged; compare it with"
                    + " ib_write_bw. p50 and p99 are percentiles of half the time of a round trip; compare them with"
                    + " ib_write_lat. In a round trip, each side sends one counted write and polls the counter that"
                    + " the other side's write advances.",
            "The table shows medians of several runs. The data that arrived is compared with the data that was sent."
        })
final class WritesCommand extends Subcommand {
    private static final int LARGEST = 1 << 30;

    @Option(
            names = "--ranks",
            paramLabel = "N",
            defaultValue = "2",
            description = "Number of ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "",
            description = "The only backend that may be used; by default the plan chooses. Inside a host the plan"
                    + " chooses shared memory; to measure writes between ranks of one host, give a backend that"
                    + " posts, such as ibrc-multiqp.")
    private String backend = "";

    @Option(
            names = "--sizes",
            paramLabel = "BYTES",
            split = ",",
            defaultValue = "8,64,512,4096,8192,65536,262144,1048576,8388608",
            description = "Sizes of a write in bytes, multiples of 8. Default: ${DEFAULT-VALUE}.")
    private List<Integer> sizes = List.of();

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "5000",
            description = "Largest number of writes per run. Default: ${DEFAULT-VALUE}.")
    private int count;

    @Option(
            names = "--volume",
            paramLabel = "MB",
            defaultValue = "4096",
            description = "Largest number of megabytes per run. Default: ${DEFAULT-VALUE}.")
    private int volume;

    @Option(
            names = "--writes-per-counter",
            paramLabel = "N",
            defaultValue = "32",
            description = "Number of writes for each counter update while rates are measured. Default:"
                    + " ${DEFAULT-VALUE}.")
    private int writesPerCounter;

    @Option(
            names = "--pings",
            paramLabel = "N",
            defaultValue = "1000",
            description = "Largest number of round trips per run. Default: ${DEFAULT-VALUE}.")
    private int pings;

    @Option(
            names = "--repeats",
            paramLabel = "N",
            defaultValue = "5",
            description = "Runs per size. Default: ${DEFAULT-VALUE}.")
    private int repeats;

    @Option(
            names = "--warmup",
            paramLabel = "N",
            defaultValue = "20000",
            description =
                    "Warm-up writes per size, limited by --volume, and a tenth as many warm-up round trips. Default:"
                            + " ${DEFAULT-VALUE}.")
    private int warmup;

    @Option(
            names = "--receiver-waits",
            description =
                    "The receiver also polls its counters while rates are measured, like a rank that waits in dispatch;"
                            + " without this option, the receiver starts to poll only after the sender is done. With"
                            + " libfabric's tcp and shm providers, no NIC moves the bytes: the receiver moves them when it polls.")
    private boolean receiverWaits;

    @Option(names = "--json", paramLabel = "FILE", description = "Write all measurements as JSON to this file.")
    private Optional<Path> json = Optional.empty();

    @Override
    int run() {
        check();
        return LaunchedRanks.runOrServe(System.getenv(), this::measure);
    }

    private void check() {
        ModelOptions.range(
                "--ranks", ranks, 2, LocalRanks.MAX_RANKS, "start at least two ranks, which write to each other");
        ModelOptions.range("--count", count, 1, LARGEST, "measure at least one");
        ModelOptions.range("--volume", volume, 1, LARGEST, "measure at least one megabyte");
        ModelOptions.range("--writes-per-counter", writesPerCounter, 1, LARGEST, "1 counts every write");
        ModelOptions.range("--pings", pings, 1, LARGEST, "measure at least one");
        ModelOptions.range("--repeats", repeats, 1, LARGEST, "measure at least once");
        ModelOptions.range("--warmup", warmup, 0, LARGEST, "0 means no warm-up: the first write is measured too");
        for (int size : sizes) {
            if (size < 8 || size % 8 != 0 || size > LARGEST) {
                throw new EpArgumentException(
                        "--sizes",
                        size,
                        "multiples of 8 from 8 to " + LARGEST,
                        "round it to a multiple of 8 in this range");
            }
        }
    }

    private int measure(Optional<LaunchedRanks> launched) {
        ranks = launched.map(all -> all.ranks(spec, ranks)).orElse(ranks);
        json.ifPresent(TextFile::checkFolder);
        // Reading them takes time, and the table does not need them.
        Optional<HostFacts> host = json.map(file -> HostFacts.here());
        WriteSpec work = new WriteSpec(
                ranks,
                backend,
                sizes,
                count,
                volume * 1_000_000L,
                writesPerCounter,
                pings,
                repeats,
                warmup,
                receiverWaits);
        List<List<RankMessage>> messages = RankJob.run(spec, launched, ranks, RankCommand.Kind.WRITES, work);
        WriteReport report = WriteReport.of(work, messages);
        show(report);
        host.ifPresent(facts -> report.write(
                json.orElseThrow(),
                RankJob.environment(
                        spec,
                        facts,
                        List.of(report.path().backend()),
                        Device.HOST.toString(),
                        RankMessage.all(messages, RankMessage.Joined.class)
                                .get(0)
                                .fingerprint(),
                        launched)));
        return report.problems().isEmpty() ? ExitCodes.OK : ExitCodes.CHECK_FAILED;
    }

    private void show(WriteReport report) {
        PrintWriter out = out();
        RankMessage.Path path = report.path();
        out.println();
        out.println("rank " + path.from() + " (" + String.join(", ", path.nics()) + ") to rank " + path.to() + " ("
                + String.join(", ", path.peerNics()) + ") over " + path.backend() + "; a counter after every "
                + report.writesPerCounter() + " writes; medians of " + repeats + " runs");
        out.println();
        out.print(report.table());
        out.println();
        FigureTable.sent(report.sent()).forEach(out::println);
        report.problems().forEach(problem -> out.println("WRONG " + problem));
        out.flush();
    }
}
