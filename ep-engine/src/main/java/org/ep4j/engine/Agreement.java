package org.ep4j.engine;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpException.Recourse;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.Failures;

/** Steps that succeed on all ranks or on none: a rank that cannot go on tells the others why. */
final class Agreement {
    private static final byte OK = 0;
    private static final byte REFUSED = 1;

    private final Bootstrap bootstrap;
    private final IntUnaryOperator names;
    private final UnaryOperator<EpFailure> known;
    private final Recourse stopped;

    /**
     * Of all ranks of a group.
     *
     * @param stopped what a rank can do that did its part, when another one could not do its own
     */
    Agreement(Bootstrap bootstrap, Recourse stopped) {
        this.bootstrap = bootstrap;
        this.names = IntUnaryOperator.identity();
        this.known = UnaryOperator.identity();
        this.stopped = stopped;
    }

    /**
     * Of ranks that recover a buffer. If one of them cannot, the others may recover again, without it if it has ended.
     *
     * @param ranks in the order of their bootstrap
     * @param known adds what is known of a rank to a failure
     */
    Agreement(Bootstrap bootstrap, List<Integer> ranks, UnaryOperator<EpFailure> known) {
        this.bootstrap = bootstrap;
        this.names = ranks::get;
        this.known = known;
        this.stopped = Recourse.RECOVER;
    }

    /**
     * This rank could do its part.
     *
     * @return what all ranks brought
     * @throws EpUnavailableException when a rank could not, with its reason
     */
    List<byte[]> exchange(String step, byte[] mine, Duration deadline) {
        List<byte[]> bodies = new ArrayList<>();
        List<String> refusals = new ArrayList<>();
        List<byte[]> all;
        try {
            all = bootstrap.allGather(step, join(OK, mine), deadline);
        } catch (EpTimeoutException e) {
            throw named(e);
        }
        for (int r = 0; r < all.size(); r++) {
            byte[] body = Arrays.copyOfRange(all.get(r), 1, all.get(r).length);
            if (all.get(r)[0] == OK) {
                bodies.add(body);
            } else {
                refusals.add("rank " + names.applyAsInt(r) + ": " + new String(body, StandardCharsets.UTF_8));
            }
        }
        if (!refusals.isEmpty()) {
            throw new EpUnavailableException("stopped by other ranks, " + String.join("; ", refusals), stopped);
        }
        return bodies;
    }

    /** As {@link #exchange(String, byte[], Duration)}, with nothing to bring; {@code undo} runs where it throws. */
    void confirm(String step, Duration deadline, Runnable undo) {
        try {
            exchange(step, new byte[0], deadline);
        } catch (RuntimeException | Error e) {
            undo.run();
            throw e;
        }
    }

    /** Does this rank's part of a step; where it cannot, gives the others the reason within the time that is left, and throws. */
    <T> T attempt(String step, Supplier<Duration> left, Supplier<T> work) {
        try {
            return work.get();
        } catch (RuntimeException | Error e) {
            refuse(step, e, left.get());
            throw e;
        }
    }

    private EpTimeoutException named(EpTimeoutException e) {
        int member = e.failure().peer();
        return member < 0
                ? e
                : Failures.with(
                        e,
                        known.apply(e.failure().toBuilder()
                                .peer(names.applyAsInt(member))
                                .build()),
                        e.recourse());
    }

    /** Tells the others that this rank could not do its part. The caller throws the reason. */
    void refuse(String step, Throwable reason, Duration deadline) {
        String text = reason instanceof EpException ? String.valueOf(reason.getMessage()) : reason.toString();
        try {
            bootstrap.allGather(step, join(REFUSED, text.getBytes(StandardCharsets.UTF_8)), deadline);
        } catch (RuntimeException e) {
            reason.addSuppressed(e);
        }
    }

    private static byte[] join(byte head, byte[] body) {
        byte[] all = new byte[body.length + 1];
        all[0] = head;
        System.arraycopy(body, 0, all, 1, body.length);
        return all;
    }
}
