package com.example.moe;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;

/** Runs the ranks of a group as threads of this process. */
final class Ranks {
    private static final int PATIENCE = Integer.parseInt(System.getenv().getOrDefault("EP_TCK_PATIENCE", "1"));

    /** Deadline of every call that waits. No scenario needs it: it only ends one that hangs. */
    static final Duration DEADLINE = Duration.ofMinutes(2L * PATIENCE);

    /** Code of one rank. */
    interface Rank {
        void run(Bootstrap member) throws Exception;
    }

    private Ranks() {}

    /** Settings of every rank. */
    static EpConfig.Builder settings() {
        return EpConfig.builder().timeout(DEADLINE).set("ep.setup-timeout", DEADLINE);
    }

    /** Runs all ranks and returns when all have ended. The first failure is thrown at once, and interrupts the other ranks. */
    static void run(int size, Rank rank) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(size);
        ExecutorCompletionService<Integer> ended = new ExecutorCompletionService<>(threads);
        try {
            List<Future<Integer>> all = Bootstrap.inProcess(size).stream()
                    .map(member -> ended.submit(task(rank, member)))
                    .toList();
            for (int i = 0; i < all.size(); i++) {
                Future<Integer> next = ended.poll(4 * DEADLINE.toSeconds(), TimeUnit.SECONDS);
                if (next == null) {
                    throw new AssertionError((all.size() - i) + " of " + size + " ranks have not ended");
                }
                next.get();
            }
        } catch (ExecutionException e) {
            throw new AssertionError("a rank failed: " + e.getCause(), e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    private static Callable<Integer> task(Rank rank, Bootstrap member) {
        return () -> {
            rank.run(member);
            return member.rank();
        };
    }
}
