package org.ep4j.tck.writes;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;

/**
 * A receiver that stalls: rank 1 does not poll its queues while rank 0 writes as much as it can, which must end with a typed error before
 * any queue of rank 1 overflows. Then rank 1 polls again, rank 0 writes the rest, and every word must have arrived.
 *
 * @param stall keeps rank 1's backend from polling its queues
 * @param writes number of words, each in a write of its own and to its own offset; 24,576 at most
 * @param perCounter number of writes before each advance of the counter
 * @param least fewest writes before the error
 * @param most most writes before the error
 */
public record StalledReceiver(Stall stall, int writes, int perCounter, int least, int most) {
    private static final int COUNTER = 7;

    /** Keeps a backend from polling its queues. */
    public interface Stall {
        /** Runs {@code meanwhile}, while neither the backend's threads nor its callers poll queues. */
        void run(EpBackend backend, Runnable meanwhile);
    }

    /** Returns the part of a rank that is a process. */
    public TwoProcesses.Part part(Duration patience) {
        return (context, exchange) -> run(context, exchange, patience);
    }

    void run(OpenContext context, WriteExchange exchange, Duration patience) {
        if (context.rank() == 0) {
            write(context, exchange, patience);
        } else {
            stall.run(exchange.backend(), () -> {
                context.bootstrap().barrier("stalled", patience);
                context.bootstrap().barrier("full", patience);
            });
            receive(exchange, patience);
        }
        context.bootstrap().barrier("done", patience);
    }

    private void write(OpenContext context, WriteExchange exchange, Duration patience) {
        context.bootstrap().barrier("stalled", patience);
        int done = 0;
        int signalled = 0;
        int full = -1;
        long end = System.nanoTime() + patience.toNanos();
        while (signalled < writes) {
            try {
                if (done < writes && done - signalled < perCounter) {
                    exchange.writeWord(done);
                    done++;
                } else {
                    exchange.posted().signal(1, COUNTER, done);
                    signalled = done;
                }
                end = System.nanoTime() + patience.toNanos();
            } catch (EpTimeoutException e) {
                // After fewer writes, the backend's own threads may not have run for the length of the timeout.
                if (full < 0 && done >= least) {
                    WriteScenarios.check(e.getMessage(), "rank 1", "accepted no data", "ep.timeout");
                    full = done;
                    context.bootstrap().barrier("full", patience);
                } else if (System.nanoTime() - end > 0) {
                    throw new AssertionError("rank 0 makes no progress after " + done + " of " + writes + " writes", e);
                }
            }
        }
        if (full < least || full > most) {
            throw new AssertionError("rank 1 accepted no more data after " + full
                    + " writes of rank 0 (-1: it always accepted data), must be after " + least + " to " + most
                    + " writes");
        }
        exchange.posted().flush(1, System.nanoTime() + patience.toNanos());
    }

    private void receive(WriteExchange exchange, Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        int last = 0;
        while (last < writes) {
            long now = exchange.posted().counter(COUNTER, 0);
            if (now < last || now > writes || System.nanoTime() - end > 0) {
                throw new AssertionError("the counter of the writes of rank 0 is " + now + ", must increase, from "
                        + last + " to at most " + writes);
            }
            while (last < now) {
                exchange.checkWord(last);
                last++;
                end = System.nanoTime() + patience.toNanos();
            }
            LockSupport.parkNanos(10_000);
        }
    }
}
