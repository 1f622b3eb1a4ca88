package org.ep4j.tck.ranks;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.EpEngine;

/** Ranks that are threads of this JVM. A rank that is killed is declared dead, and its thread ends. */
public final class ThreadRankPool implements RankPool {
    private final List<Bootstrap> bootstraps;
    private final List<RankRunner> runners = new ArrayList<>();
    private final Set<Integer> hung = new HashSet<>();
    private boolean usable = true;

    /** Creates a pool of {@code size} ranks. */
    public ThreadRankPool(int size) {
        this.bootstraps = Bootstrap.inProcess(size);
        for (Bootstrap bootstrap : bootstraps) {
            runners.add(new RankRunner(bootstrap, facts -> {
                EpEngine.installed().declareDead(bootstrap, "killed by the conformance kit");
                throw new RankRunner.Killed();
            }));
        }
    }

    @Override
    public int size() {
        return bootstraps.size();
    }

    @Override
    public boolean usable() {
        return usable;
    }

    @Override
    public List<RankReport> run(Job job) {
        BlockingQueue<RankReport> ended = new LinkedBlockingQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int rank = 0; rank < job.ranks(); rank++) {
            int mine = rank;
            Thread thread = new Thread(
                    () -> {
                        RankReport report = runners.get(mine).run(job);
                        if (report.end() == RankReport.End.FAILED) {
                            EpEngine.installed().declareDead(bootstraps.get(mine), "its scenario failed");
                        }
                        ended.add(report);
                    },
                    "tck-rank-" + rank);
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        List<RankReport> reports = collect(job, ended);
        if (reports.size() < job.ranks()) {
            String stacks = RankRunner.stacks();
            threads.forEach(Thread::interrupt);
            for (int rank = 0; rank < job.ranks(); rank++) {
                int missing = rank;
                if (reports.stream().noneMatch(r -> r.rank() == missing)) {
                    hung.add(rank);
                    reports.add(RankReport.hung(rank, job, stacks));
                }
            }
        }
        usable = reports.stream().allMatch(r -> r.end() == RankReport.End.DONE);
        reports.sort(Comparator.comparingInt(RankReport::rank));
        return reports;
    }

    private static List<RankReport> collect(Job job, BlockingQueue<RankReport> ended) {
        List<RankReport> reports = new ArrayList<>();
        long end = System.nanoTime() + job.timeout().toNanos();
        try {
            while (reports.size() < job.ranks()) {
                RankReport one = ended.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (one == null) {
                    break;
                }
                reports.add(one);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return reports;
    }

    @Override
    public void close() {
        for (int rank = 0; rank < runners.size(); rank++) {
            runners.get(rank).close(hung.contains(rank));
        }
        usable = false;
    }
}
