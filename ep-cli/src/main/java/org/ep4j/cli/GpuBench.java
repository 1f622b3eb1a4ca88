package org.ep4j.cli;

import java.io.PrintWriter;
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
import org.ep4j.cli.report.GpuFigures;
import org.ep4j.cli.report.GpuReport;
import org.ep4j.cli.report.ProgressView;
import picocli.CommandLine;

/** Runs a {@link GpuSpec} on ranks of this machine, as processes or as threads, and collects what they report. */
final class GpuBench {
    private final CommandLine line;
    private final Kind kind;
    private final Optional<LaunchedRanks> launched;

    GpuBench(CommandLine line, Kind kind, Optional<LaunchedRanks> launched) {
        this.line = line;
        this.kind = kind;
        this.launched = launched;
        if (launched.isPresent() && kind == Kind.THREADS) {
            throw new EpArgumentException(
                    "--ranks-as", "threads", "processes under a launcher", "start one process without a launcher");
        }
    }

    /** Runs one after another; a run is what one group of ranks measures. */
    List<GpuReport.Run> run(List<GpuSpec> specs) {
        PrintWriter out = line.getOut();
        List<GpuReport.Run> runs = new ArrayList<>();
        for (GpuSpec spec : specs) {
            List<List<RankMessage>> said;
            try (ProgressView progress = ProgressView.of("bench", out)) {
                said = kind == Kind.THREADS ? threads(spec, progress) : processes(spec, progress);
            }
            runs.add(GpuFigures.run(spec, said));
        }
        return runs;
    }

    private List<List<RankMessage>> processes(GpuSpec spec, ProgressView progress) {
        Work work = new Work(new PrefixedOutput(line), progress::step, launched);
        try {
            return work.run(spec.work().ranks(), RankCommand.Kind.GPU, spec);
        } finally {
            remove(spec);
        }
    }

    private static List<List<RankMessage>> threads(GpuSpec spec, ProgressView progress) {
        List<Bootstrap> bootstraps = Bootstrap.inProcess(spec.work().ranks());
        List<List<RankMessage>> said = new ArrayList<>();
        List<Future<?>> ends = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(spec.work().ranks(), task -> {
            Thread thread = new Thread(task, "ep-rank");
            thread.setDaemon(true);
            return thread;
        });
        try {
            for (int rank = 0; rank < spec.work().ranks(); rank++) {
                List<RankMessage> mine = Collections.synchronizedList(new ArrayList<>());
                said.add(mine);
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
            remove(spec);
        }
        return said;
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
            Work.remove(Path.of(file));
            Work.remove(Path.of(file + "-gpu"));
        }
    }
}
