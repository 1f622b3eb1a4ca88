package org.ep4j.tck.writes;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;

/**
 * Rank 1 takes nothing out of its queues while rank 0 writes as much as it may, which is to end with a typed error before any
 * queue of rank 1 runs over. Then rank 1 looks again, rank 0 writes the rest, and every word has to be there.
 *
 * @param hold keeps rank 1's backend from its queues
 * @param writes words that are written, each by itself and to a place of its own; 24,576 at most
 * @param perCounter so many writes are followed by an advance of a counter
 * @param least so many go before the error at least
 * @param most so many go before it at most
 */
public record HeldReceiver(Hold hold, int writes, int perCounter, int least, int most) {
    private static final int COUNTER = 7;

    /** Keeps a backend from its queues. */
    public interface Hold {
        /** Neither the backend's threads nor its callers look at queues while {@code meanwhile} runs. */
        void run(EpBackend backend, Runnable meanwhile);
    }

    /** What a rank of two processes does. */
    public TwoProcesses.Part part(Duration patience) {
        return (context, exchange) -> run(context, exchange, patience);
    }

    void run(OpenContext context, WriteExchange exchange, Duration patience) {
        if (context.rank() == 0) {
            write(context, exchange, patience);
        } else {
            hold.run(exchange.backend(), () -> {
                context.bootstrap().barrier("held", patience);
                context.bootstrap().barrier("full", patience);
            });
            look(exchange, patience);
        }
        context.bootstrap().barrier("done", patience);
    }

    private void write(OpenContext context, WriteExchange exchange, Duration patience) {
        context.bootstrap().barrier("held", patience);
        int done = 0;
        int told = 0;
        int full = -1;
        long end = System.nanoTime() + patience.toNanos();
        while (told < writes) {
            try {
                if (done < writes && done - told < perCounter) {
                    exchange.writeWord(done);
                    done++;
                } else {
                    exchange.posted().signal(1, COUNTER, done);
                    told = done;
                }
                end = System.nanoTime() + patience.toNanos();
            } catch (EpTimeoutException e) {
                // Before so many writes it may be the backend's own threads that have not run for so long.
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

    private void look(WriteExchange exchange, Duration patience) {
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
