package org.ep4j.tck.crew;

import java.lang.invoke.MethodHandles;
import java.time.Duration;
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
import org.ep4j.plan.RecordCodec;
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

    private static final byte[] NOTHING = {};
    private static final RecordCodec<Job> JOBS = new RecordCodec<>(MethodHandles.lookup(), Job.class, "a job", 1);
    private static final RecordCodec<RankReport> REPORTS =
            new RecordCodec<>(MethodHandles.lookup(), RankReport.class, "its report", 1);

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
        for (Optional<Job> job = crew.handOut(NOTHING); job.isPresent(); job = crew.handOut(NOTHING)) {
            crew.work(job.get());
            if (!crew.usable()) {
                crew.close();
                crew = new LaunchedCrew(control, crew.crew + 1);
            }
        }
        crew.close();
    }

    /** Ends the service of the other ranks, on rank 0: no crew follows. */
    public void dismiss() {
        try {
            handOut(NOTHING);
        } catch (EpException e) {
            // A rank is gone, which the results have told already; the others notice, too.
            System.getLogger(LaunchedCrew.class.getName()).log(System.Logger.Level.DEBUG, "other ranks have ended", e);
        }
    }

    /** Gives the job of rank 0; empty for the end. */
    private Optional<Job> handOut(byte[] mine) {
        byte[] job = gather("job", mine, PATIENCE).get(0);
        return job.length == 0 ? Optional.empty() : Optional.of(JOBS.decode(job));
    }

    private List<byte[]> gather(String what, byte[] mine, Duration deadline) {
        return control.allGather("tck/" + what + crew + "/" + jobs, mine, deadline);
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
        handOut(JOBS.encode(job));
        return work(job);
    }

    private List<RankReport> work(Job job) {
        byte[] mine = control.rank() < job.ranks() ? REPORTS.encode(attempt(job)) : NOTHING;
        List<RankReport> reports = gather("report", mine, job.timeout().plus(Patience.here(REPORTING))).stream()
                .limit(job.ranks())
                .map(REPORTS::decode)
                .toList();
        jobs++;
        usable = reports.stream().allMatch(report -> report.end() == RankReport.End.DONE);
        return reports;
    }

    /** Runs this rank's part in a thread of its own, which is left behind when it hangs. */
    private RankReport attempt(Job job) {
        FutureTask<RankReport> task = new FutureTask<>(() -> runner.run(job));
        Thread thread = new Thread(task, "tck-rank");
        thread.setDaemon(true);
        thread.start();
        try {
            RankReport report = task.get(job.timeout().toMillis(), TimeUnit.MILLISECONDS);
            if (report.end() != RankReport.End.DONE) {
                // The others need not wait for a rank that will not come.
                base.close();
            }
            return report;
        } catch (TimeoutException e) {
            RankReport report = RankReport.hung(control.rank(), job, RankRunner.stacks());
            hung = true;
            base.close();
            return report;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return runner.report(RankReport.End.FAILED, e.toString(), Map.of());
        } catch (ExecutionException e) {
            return runner.report(RankReport.End.FAILED, e.toString(), Map.of());
        }
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
