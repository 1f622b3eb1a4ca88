package org.ep4j.examples.llm;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The threads of a rank, and the loops that they run. */
final class Compute implements AutoCloseable {
    /** Below so many multiplications a second thread costs more than it saves. */
    private static final long WORTHWHILE = 1 << 17;

    /** A part of the indices from 0. */
    interface Part {
        void run(int first, int end);
    }

    private final Product product = Product.best();
    private final int threads;
    private final ExecutorService others;
    private final List<Runnable> recorded = new ArrayList<>();
    private boolean recording;

    Compute(int threads) {
        this.threads = threads;
        this.others = Executors.newFixedThreadPool(Math.max(1, threads - 1), task -> {
            Thread thread = new Thread(task, "compute");
            thread.setDaemon(true);
            return thread;
        });
    }

    int threads() {
        return threads;
    }

    Product product() {
        return product;
    }

    /** Tokens as {@link Product} takes them: elements of even and of odd index apart. */
    @SuppressWarnings("ArrayRecordComponent") // not compared, and not copied: these are large
    record Tokens(int count, float[] even, float[] odd) {
        static Tokens of(float[] rows, int count, int columns) {
            int pairs = columns / 2;
            float[] even = new float[count * pairs];
            float[] odd = new float[count * pairs];
            for (int i = 0; i < count * pairs; i++) {
                even[i] = rows[2 * i];
                odd[i] = rows[2 * i + 1];
            }
            return new Tokens(count, even, odd);
        }
    }

    /** {@code [tokens][rows]}: each token times each row of the matrix. */
    float[] multiply(Matrix matrix, Tokens tokens) {
        if (recording) {
            recorded.add(() -> multiply(matrix, tokens));
        }
        float[] out = new float[tokens.count() * matrix.rows()];
        long work = (long) out.length * matrix.columns();
        split(
                matrix.rows(),
                work,
                (first, end) -> product.multiply(
                        matrix.pairs(),
                        matrix.columns() / 2,
                        first,
                        end,
                        tokens.even(),
                        tokens.odd(),
                        tokens.count(),
                        out,
                        matrix.rows()));
        return out;
    }

    float[] multiply(Matrix matrix, float[] rows, int count) {
        return multiply(matrix, Tokens.of(rows, count, matrix.columns()));
    }

    /** Keeps the products of this thread from now on, to run them again. */
    void record() {
        recording = true;
    }

    /** Runs the products alone that were kept: the bound of a step that does all of them. False where none were. */
    boolean replay() {
        recording = false;
        recorded.forEach(Runnable::run);
        return !recorded.isEmpty();
    }

    /** Runs a part on each thread, and waits for all. */
    void split(int count, long work, Part part) {
        int parts = work < WORTHWHILE ? 1 : Math.min(threads, Math.max(1, count));
        List<Future<?>> running = new ArrayList<>();
        for (int i = 1; i < parts; i++) {
            int first = (int) ((long) count * i / parts);
            int end = (int) ((long) count * (i + 1) / parts);
            running.add(others.submit(() -> part.run(first, end)));
        }
        part.run(0, count / parts);
        for (Future<?> one : running) {
            try {
                one.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while computing", e);
            } catch (ExecutionException e) {
                throw new IllegalStateException("a thread of this rank failed: " + e.getCause(), e);
            }
        }
    }

    @Override
    public void close() {
        others.shutdownNow();
    }
}
