package org.ep4j.tck.crew;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.tck.oracle.Patience;

/**
 * Ranks that a launcher has started, of which this process is one. Rank 0 has the crew; the others {@link #serve}. They cannot be
 * killed and started again; after a failure the next crew of the same bootstrap goes on with them, unless one hangs.
 */
public final class LaunchedCrew implements RankCrew {
    /** Longest time between two jobs, for those that serve: somebody may look at a rank with a debugger. */
    private static final Duration PATIENCE = Duration.ofDays(1);

    /** How much later than the first report the last may come, on top of the job's own limit. */
    private static final Duration REPORTING = Duration.ofSeconds(60);

    private final Bootstrap control;
    private final int crew;
    private final Bootstrap base;
    private final RankRunner runner;
    private int jobs;
    private boolean usable = true;
    private boolean hung;

    private LaunchedCrew(Bootstrap control, int crew) {
        this.control = control;
        this.crew = crew;
        this.base = control.subgroup(
                "tck/crew" + crew, IntStream.range(0, control.size()).boxed().toList());
        this.runner = new RankRunner(base, facts -> {
            throw new IllegalStateException("ranks that a launcher started cannot be killed; leave the rule out");
        });
    }

    /**
     * A crew, on rank 0.
     *
     * @param control of all ranks; stays open
     * @param crew number of it, counted from 0: those before are closed
     */
    public static LaunchedCrew conduct(Bootstrap control, int crew) {
        return new LaunchedCrew(control, crew);
    }

    /** Runs the jobs of all crews of rank 0 until {@link #dismiss}; for the other ranks. */
    public static void serve(Bootstrap control) {
        LaunchedCrew crew = new LaunchedCrew(control, 0);
        while (true) {
            Optional<Wire.Message> message = crew.handOut("");
            if (message.isEmpty()) {
                crew.close();
                return;
            }
            crew.work(message.get().run().orElseThrow().job());
            if (!crew.usable()) {
                crew.close();
                crew = new LaunchedCrew(control, crew.crew + 1);
            }
        }
    }

    /** Ends the service of the other ranks, on rank 0: no crew follows. */
    public void dismiss() {
        try {
            handOut("");
        } catch (EpException e) {
            // A rank is gone, which the results have told already; the others notice, too.
            System.getLogger(LaunchedCrew.class.getName()).log(System.Logger.Level.DEBUG, "other ranks have ended", e);
        }
    }

    /** Gives what rank 0 says; empty for the end. */
    private Optional<Wire.Message> handOut(String mine) {
        String text = gather("job", mine, PATIENCE).get(0);
        return text.isEmpty() ? Optional.empty() : Wire.decode(text);
    }

    private List<String> gather(String what, String mine, Duration deadline) {
        return control.allGather("tck/" + what + crew + "/" + jobs, mine.getBytes(UTF_8), deadline).stream()
                .map(bytes -> new String(bytes, UTF_8))
                .toList();
    }

    @Override
    public int size() {
        return control.size();
    }

    @Override
    public boolean usable() {
        return usable;
    }

    @Override
    public List<RankReport> run(Job job) {
        handOut(Wire.encode(new Wire.Message(Wire.Kind.RUN, Optional.of(Wire.Run.of(job)), false, "", Map.of(), 0)));
        return work(job);
    }

    private List<RankReport> work(Job job) {
        boolean takesPart = control.rank() < job.ranks();
        String mine = takesPart ? Wire.encode(attempt(job)) : "";
        List<String> texts = gather("report", mine, job.timeout().plus(Patience.here(REPORTING)));
        jobs++;
        List<RankReport> reports = new ArrayList<>();
        for (int rank = 0; rank < job.ranks(); rank++) {
            Wire.Message message = Wire.decode(texts.get(rank)).orElseThrow();
            reports.add(new RankReport(
                    rank,
                    message.kind() == Wire.Kind.STACKS
                            ? RankReport.End.HUNG
                            : message.failed() ? RankReport.End.FAILED : RankReport.End.DONE,
                    message.detail(),
                    message.facts(),
                    message.nanos()));
        }
        usable = reports.stream().allMatch(report -> report.end() == RankReport.End.DONE);
        return reports;
    }

    /** Runs this rank's part in a thread of its own, which is left behind when it hangs. */
    private Wire.Message attempt(Job job) {
        FutureTask<RankRunner.Outcome> task = new FutureTask<>(() -> runner.run(job));
        Thread thread = new Thread(task, "tck-rank");
        thread.setDaemon(true);
        thread.start();
        try {
            RankRunner.Outcome outcome = task.get(job.timeout().toMillis(), TimeUnit.MILLISECONDS);
            boolean failed = outcome.end() != RankReport.End.DONE;
            if (failed) {
                // The others need not wait for a rank that will not come.
                base.close();
            }
            return new Wire.Message(
                    Wire.Kind.ENDED, Optional.empty(), failed, outcome.detail(), outcome.facts(), outcome.nanos());
        } catch (TimeoutException e) {
            String stacks = "not done after " + job.timeout() + "; threads:\n" + StackDump.text();
            hung = true;
            base.close();
            return Wire.Message.detail(Wire.Kind.STACKS, stacks);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failure(e);
        } catch (ExecutionException e) {
            return failure(e);
        }
    }

    private static Wire.Message failure(Exception e) {
        return new Wire.Message(Wire.Kind.ENDED, Optional.empty(), true, e.toString(), Map.of(), System.nanoTime());
    }

    @Override
    public void close() {
        // A rank that hangs may hold the locks of its groups: only what cannot block is closed.
        if (hung) {
            base.close();
        } else {
            runner.close();
        }
        usable = false;
    }
}
