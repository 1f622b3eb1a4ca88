package org.ep4j.tck;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Several {@link RuleRunner}s that take rules from one list, each with ranks of its own. */
final class ParallelRunner implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.ep4j.tck");
    private static final Duration SHUTDOWN = Duration.ofSeconds(30);

    private final List<RuleRunner> siblings = new ArrayList<>();
    private final BlockingQueue<RuleRunner> idle;
    private final ExecutorService threads;

    /**
     * Creates as many runners as {@code jobs}.
     *
     * @param first one of them, which the caller closes
     */
    ParallelRunner(RuleRunner first, int jobs) {
        idle = new ArrayBlockingQueue<>(jobs);
        idle.add(first);
        while (siblings.size() < jobs - 1) {
            RuleRunner sibling = first.sibling();
            siblings.add(sibling);
            idle.add(sibling);
        }
        threads = Executors.newFixedThreadPool(jobs, task -> {
            Thread thread = new Thread(task, "tck-rules");
            thread.setDaemon(true);
            return thread;
        });
    }

    /**
     * Runs rules, in about the order of the list. The timeout of each rule ends it, so this ends, too.
     *
     * @param progress called with every result at once, in the calling thread
     * @return the results in the order of the list
     */
    List<RuleResult> run(List<Rule> rules, RankMode mode, int ranks, Consumer<RuleResult> progress) {
        ExecutorCompletionService<RuleResult> running = new ExecutorCompletionService<>(threads);
        List<Future<RuleResult>> all = new ArrayList<>();
        for (Rule rule : rules) {
            all.add(running.submit(() -> {
                RuleRunner runner = idle.take();
                try {
                    return runner.run(rule, mode, ranks);
                } finally {
                    idle.add(runner);
                }
            }));
        }
        int done = 0;
        try {
            for (; done < rules.size(); done++) {
                progress.accept(running.take().get());
            }
            List<RuleResult> results = new ArrayList<>();
            for (Future<RuleResult> one : all) {
                results.add(one.get());
            }
            return results;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted after " + done + " of " + rules.size() + " rules", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a rule could not be run", e);
        }
    }

    /** Shuts down the ranks of all runners but the first, and interrupts rules that still run after a failure. */
    @Override
    public void close() {
        threads.shutdownNow();
        try {
            if (!threads.awaitTermination(SHUTDOWN.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "rules still run " + SHUTDOWN + " after their threads were interrupted");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        siblings.forEach(RuleRunner::close);
    }
}
