package org.ep4j.engine.pmix;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;

/**
 * A membership for the time of a wire-up. Calls are made by a daemon thread, since they end when the launcher wants: one that
 * takes too long is left behind, and nothing is called after it.
 */
final class PmixSession implements Bootstrap.Broadcast, AutoCloseable {
    private static final Logger LOG = System.getLogger(PmixSession.class.getName());

    /** Launchers answer this at once or never. */
    private static final Duration LEAVING = Duration.ofSeconds(5);

    private final ExecutorService thread = Executors.newSingleThreadExecutor(work -> {
        Thread daemon = new Thread(work, "ep4j-pmix");
        daemon.setDaemon(true);
        return daemon;
    });
    private final PmixJob job;
    private final int number;
    private boolean stuck;

    /**
     * Becomes a member.
     *
     * @param number of the session in this process, from 0: a key keeps the value that it has
     */
    PmixSession(PmixLibrary library, int number, Duration deadline) {
        this.number = number;
        boolean open = false;
        try {
            job = timed("PMIx_Init", deadline, "check that the launcher is still running", () -> new PmixJob(library));
            open = true;
        } finally {
            if (!open) {
                thread.shutdown();
            }
        }
    }

    <T> T ask(Function<PmixJob, T> question, Duration deadline) {
        return timed("a PMIx query", deadline, "check that the launcher is still running", () -> question.apply(job));
    }

    @Override
    public byte[] fromRankZero(byte[] mine, Duration timeout) {
        String key = "ep4j.rendezvous." + number;
        String remedy =
                "every process that mpirun or srun started must join the same number of times; check the output of the"
                        + " other processes to see what delays them";
        return timed("PMIx_Fence", timeout, remedy, () -> {
            if (mine.length > 0) {
                job.put(key, mine);
            }
            job.fence();
            return job.get(0, key);
        });
    }

    private interface Call<T> {
        T make();
    }

    private <T> T timed(String what, Duration deadline, String remedy, Call<T> call) {
        Future<T> end = thread.submit(call::make);
        try {
            return end.get(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            stuck = true;
            throw new EpTimeoutException(
                    what + " did not end within " + deadline.toMillis() + "ms; " + remedy,
                    EpFailure.builder("PMIx wire-up", -1).expected(1).build(),
                    EpException.Recourse.REJOIN);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof EpException cause) {
                throw cause;
            }
            throw new EpException(what + " failed: " + e.getCause(), e);
        } catch (InterruptedException e) {
            stuck = true;
            Thread.currentThread().interrupt();
            throw new EpException("interrupted during " + what, e);
        }
    }

    /** Leaves, where nothing hangs. */
    @Override
    public void close() {
        try {
            if (!stuck) {
                timed("PMIx_Finalize", LEAVING, "the launcher did not answer", () -> {
                    job.leave();
                    return true;
                });
            }
        } catch (EpException e) {
            LOG.log(Level.WARNING, "leaving PMIx: {0}", e.getMessage());
        } finally {
            thread.shutdown();
        }
    }
}
