package org.ep4j.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.ep4j.Bootstrap;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.cli.GpuBenchOptions.Kind;
import org.ep4j.cli.gpu.GpuRank;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.Joined;
import org.ep4j.cli.report.GpuFigures;
import org.ep4j.cli.report.GpuReport;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.plan.Fingerprint;
import picocli.CommandLine.Model.CommandSpec;

/** Runs a {@link GpuSpec} on ranks that are processes or threads, and collects their messages. */
final class GpuBench {
    private GpuBench() {}

    /**
     * Result of a bench.
     *
     * @param runs one for each spec
     * @param fingerprint of rank 0
     * @param notes of the first plan of rank 0
     */
    record Outcome(List<GpuReport.Run> runs, Fingerprint fingerprint, List<String> notes) {}

    /** Runs one spec after another; each run has a group of ranks of its own. */
    static Outcome run(CommandSpec command, Kind kind, Optional<LaunchedRanks> launched, List<GpuSpec> specs) {
        if (launched.isPresent() && kind == Kind.THREADS) {
            throw new EpArgumentException(
                    "--ranks-as", "threads", "processes under a launcher", "start one process without a launcher");
        }
        List<GpuReport.Run> runs = new ArrayList<>();
        List<Joined> joined = new ArrayList<>();
        for (GpuSpec spec : specs) {
            try {
                List<List<RankMessage>> messages = kind == Kind.THREADS
                        ? threads(command, spec)
                        : RankJob.run(command, launched, spec.work().ranks(), RankCommand.Kind.GPU, spec);
                runs.add(GpuFigures.run(spec, messages));
                joined.addAll(RankMessage.all(messages, Joined.class));
            } finally {
                remove(spec);
            }
        }
        Joined first = joined.get(0);
        return new Outcome(runs, first.fingerprint(), first.notes());
    }

    private static List<List<RankMessage>> threads(CommandSpec command, GpuSpec spec) {
        List<Bootstrap> bootstraps = Bootstrap.inProcess(spec.work().ranks());
        List<List<RankMessage>> messages = new ArrayList<>();
        List<Future<?>> ends = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(spec.work().ranks(), task -> {
            Thread thread = new Thread(task, "ep-rank");
            thread.setDaemon(true);
            return thread;
        });
        try (ProgressView progress =
                ProgressView.of(command.name(), command.commandLine().getOut())) {
            for (int rank = 0; rank < spec.work().ranks(); rank++) {
                List<RankMessage> mine = Collections.synchronizedList(new ArrayList<>());
                messages.add(mine);
                Bootstrap bootstrap = bootstraps.get(rank);
                boolean first = rank == 0;
                ends.add(threads.submit(() -> new GpuRank(spec, message -> {
                            mine.add(message);
                            if (first) {
                                progress.step(message);
                            }
                        })
                        .run(bootstrap, bootstrap.rank())));
            }
            for (Future<?> end : ends) {
                await(end);
            }
        } finally {
            threads.shutdownNow();
        }
        return messages;
    }

    private static void await(Future<?> end) {
        try {
            end.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpException("interrupted while waiting for the ranks", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new EpException("a rank failed: " + e.getCause(), e);
        }
    }

    private static void remove(GpuSpec spec) {
        String file = spec.work().barrierFile();
        if (!file.isEmpty()) {
            RankJob.remove(Path.of(file));
            RankJob.remove(Path.of(file + "-gpu"));
        }
    }
}
