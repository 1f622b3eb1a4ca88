package org.ep4j.tck.ranks;

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
 * Ranks that a launcher has started, of which this process is one. Rank 0 has the pool; the others {@link #serve}. They cannot be
 * killed and started again; after a failure the next pool of the same bootstrap continues with them, unless one hangs.
 */
public final class LaunchedRankPool implements RankPool {
    /** Longest time between two jobs: a user may inspect a rank with a debugger meanwhile. */
    private static final Duration IDLE = Duration.ofDays(1);

    /** Longest time from the first report to the last one, beyond the job's own limit. */
    private static final Duration REPORTING = Duration.ofSeconds(60);

    private static final byte[] NOTHING = {};
    private static final RecordCodec<Job> JOBS = new RecordCodec<>(MethodHandles.lookup(), Job.class, "a job", 1);
    private static final RecordCodec<RankReport> REPORTS =
            new RecordCodec<>(MethodHandles.lookup(), RankReport.class, "its report", 1);

    private final Bootstrap control;
    private final int number;
    private final Bootstrap base;
    private final RankRunner runner;
    private int jobs;
    private boolean usable = true;
    private boolean hung;

    /**
     * Creates a pool, on rank 0.
     *
     * @param control bootstrap of all ranks; stays open
     * @param number of pools before this one, which are closed
     */
    public LaunchedRankPool(Bootstrap control, int number) {
        this.control = control;
        this.number = number;
        this.base = control.subgroup(
                "tck/pool" + number, IntStream.range(0, control.size()).boxed().toList());
        this.runner = new RankRunner(base, facts -> {
            throw new IllegalStateException("ranks that a launcher started cannot be killed; leave the rule out");
        });
    }

    /** Runs the jobs of all pools of rank 0 until {@link #dismiss}; for the other ranks. */
    public static void serve(Bootstrap control) {
        LaunchedRankPool pool = new LaunchedRankPool(control, 0);
        for (Optional<Job> job = pool.broadcast(NOTHING); job.isPresent(); job = pool.broadcast(NOTHING)) {
            pool.runAndReport(job.get());
            if (!pool.usable()) {
                pool.close();
                pool = new LaunchedRankPool(control, pool.number + 1);
            }
        }
        pool.close();
    }

    /** Ends the service of the other ranks, on rank 0: no pool follows. */
    public void dismiss() {
        try {
            broadcast(NOTHING);
        } catch (EpException e) {
            // A rank is lost, which the results have reported already; the others find the loss, too.
            System.getLogger(LaunchedRankPool.class.getName())
                    .log(System.Logger.Level.DEBUG, "other ranks have ended", e);
        }
    }

    /** Returns the job of rank 0; empty for the end. */
    private Optional<Job> broadcast(byte[] mine) {
        byte[] job = gather("job", mine, IDLE).get(0);
        return job.length == 0 ? Optional.empty() : Optional.of(JOBS.decode(job));
    }

    private List<byte[]> gather(String what, byte[] mine, Duration timeout) {
        return control.allGather("tck/" + what + number + "/" + jobs, mine, timeout);
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
        broadcast(JOBS.encode(job));
        return runAndReport(job);
    }

    private List<RankReport> runAndReport(Job job) {
        byte[] mine = control.rank() < job.ranks() ? REPORTS.encode(attempt(job)) : NOTHING;
        List<RankReport> reports = gather("report", mine, job.timeout().plus(Patience.scaled(REPORTING))).stream()
                .limit(job.ranks())
                .map(REPORTS::decode)
                .toList();
        jobs++;
        usable = reports.stream().allMatch(report -> report.end() == RankReport.End.DONE);
        return reports;
    }

    /** Runs this rank's part in a thread of its own, which is abandoned when it hangs. */
    private RankReport attempt(Job job) {
        FutureTask<RankReport> task = new FutureTask<>(() -> runner.run(job));
        Thread thread = new Thread(task, "tck-rank");
        thread.setDaemon(true);
        thread.start();
        try {
            RankReport report = task.get(job.timeout().toMillis(), TimeUnit.MILLISECONDS);
            if (report.end() != RankReport.End.DONE) {
                // Ends the waits of the other ranks for this one.
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
        runner.close(hung);
        usable = false;
    }
}
