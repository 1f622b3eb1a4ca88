package org.ep4j.engine.pmix;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;

/**
 * The membership of this process in its PMIx job, from the first rendezvous until the process ends. The server of Open MPI
 * 4.1 (PMIx 4.2) removes a client that leaves only some time after it answered the client: a fence of the next membership
 * can then end without the data of another process, or never (1 of 80 with two processes). So the process leaves once, at
 * its end.
 *
 * <p>One daemon thread makes the calls, since they have no deadline. A call that takes too long is left to that thread, and the
 * calls of later rendezvous follow it: so all processes of a job make the same number of fences. For use from any thread.
 */
final class PmixSession implements Bootstrap.Broadcast {
    private static final Logger LOG = System.getLogger(PmixSession.class.getName());

    /** Longest wait for PMIx_Finalize, which launchers answer at once or never. */
    private static final Duration LEAVING = Duration.ofSeconds(5);

    /** System property with the number of fences, for all class loaders that load this class: PMIx belongs to the process. */
    private static final String FENCES = "org.ep4j.pmix.fences";

    private static final Object LOCK = new Object();
    private static Optional<PmixSession> current = Optional.empty();

    private final ExecutorService thread = Executors.newSingleThreadExecutor(work -> {
        Thread daemon = new Thread(work, "ep4j-pmix");
        daemon.setDaemon(true);
        daemon.setContextClassLoader(null);
        return daemon;
    });
    private final PmixJob job;

    /** The last call: while it is in flight, the process does not leave. */
    private volatile Future<?> last = CompletableFuture.completedFuture(true);

    private PmixSession(PmixLibrary library, Duration deadline) {
        try {
            job = timed("PMIx_Init", deadline, "check that the launcher is still running", () -> new PmixJob(library));
        } catch (RuntimeException | Error e) {
            thread.shutdown();
            throw e;
        }
    }

    /** Returns the membership of this process; the first call makes the process a member. */
    static PmixSession open(PmixLibrary library, Duration deadline) {
        synchronized (LOCK) {
            if (current.isEmpty()) {
                PmixSession member = new PmixSession(library, deadline);
                Thread leave = new Thread(member::leave, "ep4j-pmix-leave");
                leave.setContextClassLoader(null);
                Runtime.getRuntime().addShutdownHook(leave);
                current = Optional.of(member);
            }
            return current.get();
        }
    }

    int rank() {
        return job.rank();
    }

    int size() {
        return job.size();
    }

    @Override
    public byte[] fromRankZero(byte[] mine, Duration timeout) {
        String remedy =
                "every process that mpirun or srun started must join the same number of times; check the output of the"
                        + " other processes to see what delays them";
        return timed("PMIx_Fence", timeout, remedy, () -> {
            // A key keeps the value that it has, so each fence has a key of its own.
            String key = "ep4j.rendezvous." + fences();
            if (mine.length > 0) {
                job.put(key, mine);
            }
            job.fence();
            return job.get(0, key);
        });
    }

    /** Returns how many fences this process has made, and counts one more. */
    private static int fences() {
        Object now = System.getProperties()
                .compute(
                        FENCES,
                        (key, seen) -> Integer.toString(seen == null ? 1 : Integer.parseInt(seen.toString()) + 1));
        return Integer.parseInt(String.valueOf(now)) - 1;
    }

    private interface Call<T> {
        T make();
    }

    private <T> T timed(String what, Duration deadline, String remedy, Call<T> call) {
        Future<T> end;
        synchronized (thread) {
            end = thread.submit(call::make);
            last = end;
        }
        try {
            return end.get(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
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
            Thread.currentThread().interrupt();
            throw new EpException("interrupted during " + what, e);
        }
    }

    /** Leaves the job, unless a call hangs. */
    private void leave() {
        try {
            if (last.isDone()) {
                timed("PMIx_Finalize", LEAVING, "the launcher did not answer", () -> {
                    job.leave();
                    return true;
                });
            }
        } catch (EpException e) {
            LOG.log(Level.WARNING, "leaving PMIx: {0}", e.getMessage());
        }
    }
}
