package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.ep4j.testing.Guard;

/** Runs ranks side by side in threads and waits for all of them, with a deadline. */
final class Ranks implements AutoCloseable {
    static final Duration LONG = Guard.minute();

    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "test-rank");
        thread.setDaemon(true);
        return thread;
    });

    <T> CompletableFuture<T> start(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, threads);
    }

    CompletableFuture<Void> run(Runnable work) {
        return CompletableFuture.runAsync(work, threads);
    }

    /** Runs one piece of work for each rank and gives the results in rank order. */
    <T> List<T> all(int size, java.util.function.IntFunction<T> work) {
        List<CompletableFuture<T>> futures = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int mine = rank;
            futures.add(start(() -> work.apply(mine)));
        }
        return futures.stream().map(Ranks::get).toList();
    }

    static <T> T get(CompletableFuture<T> future) {
        try {
            return future.get(LONG.toSeconds() * 2, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError("a rank did not end in time", e);
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
