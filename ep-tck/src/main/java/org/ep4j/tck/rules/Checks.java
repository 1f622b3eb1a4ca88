package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.Recovery;
import org.ep4j.tck.oracle.Patience;

/** Assertions whose messages give the actual and the required value. */
final class Checks {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private Checks() {}

    /** Returns the longest wait for something that must happen. */
    static Duration patience() {
        return Patience.scaled(LIMIT);
    }

    static void that(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    static void equal(String what, Object seen, Object expected) {
        if (!Objects.equals(seen, expected)) {
            throw new AssertionError(what + " is " + seen + ", must be " + expected);
        }
    }

    /** Runs {@code action}, which must throw {@code type}, and returns the exception. */
    static <E extends Throwable> E refused(Class<E> type, String what, Runnable action) {
        try {
            action.run();
        } catch (RuntimeException | AssertionError e) {
            if (type.isInstance(e)) {
                return type.cast(e);
            }
            throw new AssertionError(what + " must throw " + type.getSimpleName() + ", but threw " + e, e);
        }
        throw new AssertionError(what + " must throw " + type.getSimpleName() + ", but was accepted");
    }

    /** Checks that access to something stale is refused, with a message. */
    static void stale(String what, Runnable access) {
        EpStateException refused = refused(EpStateException.class, what, access);
        that(!String.valueOf(refused.getMessage()).isBlank(), what + " is refused without a message");
    }

    /** Runs {@code action}, which must end within {@code unscaled}, times the factor of {@link Patience}. */
    static <T> T within(Duration unscaled, String what, Supplier<T> action) {
        Duration limit = Patience.scaled(unscaled);
        long start = System.nanoTime();
        T result = action.get();
        long taken = System.nanoTime() - start;
        that(
                taken <= limit.toNanos(),
                what + " took " + taken / 1_000_000 + " ms, must be within " + limit.toMillis() + " ms");
        return result;
    }

    /** Checks that the recovery has a number for each of {@code ranks} ranks that is not masked, and for no masked one. */
    static void reported(Recovery recovery, int ranks) {
        long fewest = Long.MAX_VALUE;
        for (int rank = 0; rank < ranks; rank++) {
            int asked = rank;
            if (recovery.masked().contains(rank)) {
                refused(
                        EpArgumentException.class,
                        "completed() of rank " + rank + ", which recovery masked,",
                        () -> recovery.completed(asked));
            } else {
                fewest = Math.min(fewest, recovery.completed(rank));
            }
        }
        equal("rollbackTo()", recovery.rollbackTo(), fewest);
    }

    static void mentions(Throwable seen, String part) {
        that(
                String.valueOf(seen.getMessage()).contains(part),
                "the message must mention \"" + part + "\", but is: " + seen.getMessage());
    }
}
