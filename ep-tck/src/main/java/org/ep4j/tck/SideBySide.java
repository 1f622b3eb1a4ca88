package org.ep4j.tck;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Several runners that take rules from one list, each with ranks of its own. */
final class SideBySide implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("org.ep4j.tck");
    private static final Duration GIVEN_UP = Duration.ofSeconds(30);

    private final List<RuleRunner> more = new ArrayList<>();
    private final BlockingQueue<RuleRunner> idle;
    private final ExecutorService threads;

    /**
     * As many runners as {@code jobs}.
     *
     * @param first one of them, which stays the caller's
     */
    SideBySide(RuleRunner first, int jobs) {
        idle = new ArrayBlockingQueue<>(jobs);
        idle.add(first);
        while (more.size() < jobs - 1) {
            RuleRunner another = first.beside();
            more.add(another);
            idle.add(another);
        }
        threads = Executors.newFixedThreadPool(jobs, task -> {
            Thread thread = new Thread(task, "tck-rules");
            thread.setDaemon(true);
            return thread;
        });
    }

    /**
     * Runs rules, in about the order of the list. Each ends by its own limit of time, and so does this.
     *
     * @param progress is told every result as it comes, in the calling thread
     * @return the results in the order of the list
     */
    List<RuleResult> run(List<Rule> rules, RankMode mode, int ranks, Consumer<RuleResult> progress) {
        record Placed(int place, RuleResult result) {}
        ExecutorCompletionService<Placed> running = new ExecutorCompletionService<>(threads);
        for (int i = 0; i < rules.size(); i++) {
            int place = i;
            running.submit(() -> {
                RuleRunner runner = idle.take();
                try {
                    return new Placed(place, runner.run(rules.get(place), mode, ranks));
                } finally {
                    idle.add(runner);
                }
            });
        }
        List<Placed> done = new ArrayList<>();
        try {
            while (done.size() < rules.size()) {
                Placed one = running.take().get();
                done.add(one);
                progress.accept(one.result());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted after " + done.size() + " of " + rules.size() + " rules", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a rule could not be run", e);
        }
        return done.stream()
                .sorted(Comparator.comparingInt(Placed::place))
                .map(Placed::result)
                .toList();
    }

    /** Ends the ranks of all runners but the first; rules that still run, after something else went wrong, are given up. */
    @Override
    public void close() {
        threads.shutdownNow();
        try {
            if (!threads.awaitTermination(GIVEN_UP.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "rules still run " + GIVEN_UP + " after their threads were interrupted");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        more.forEach(RuleRunner::close);
    }
}
