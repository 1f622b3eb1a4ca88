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

/** Steps of a group that succeed on all ranks or on none: a rank that fails sends the others its reason. */
final class CollectiveSteps {
    private static final byte OK = 0;
    private static final byte REFUSED = 1;

    private final Bootstrap bootstrap;
    private final IntUnaryOperator names;
    private final UnaryOperator<EpFailure> known;
    private final Recourse stopped;

    /** Creates the steps of all ranks; {@code stopped} is the recourse of a rank whose part succeeded, when another one failed. */
    CollectiveSteps(Bootstrap bootstrap, Recourse stopped) {
        this.bootstrap = bootstrap;
        this.names = IntUnaryOperator.identity();
        this.known = UnaryOperator.identity();
        this.stopped = stopped;
    }

    /**
     * Creates the steps of ranks that recover a buffer. If one of them fails, the others may recover again, without it if it has ended.
     *
     * @param ranks in the order of their bootstrap
     * @param known adds host and path of a rank to a failure
     */
    CollectiveSteps(Bootstrap bootstrap, List<Integer> ranks, UnaryOperator<EpFailure> known) {
        this.bootstrap = bootstrap;
        this.names = ranks::get;
        this.known = known;
        this.stopped = Recourse.RECOVER;
    }

    /**
     * Ends this rank's part of a step with success.
     *
     * @return the bytes of all ranks
     * @throws EpUnavailableException when a rank failed, with its reason
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

    /** As {@link #exchange}, without bytes; {@code undo} runs if it throws. */
    void confirm(String step, Duration deadline, Runnable undo) {
        try {
            exchange(step, new byte[0], deadline);
        } catch (RuntimeException | Error e) {
            undo.run();
            throw e;
        }
    }

    /** Does this rank's part of a step; if that fails, sends the others the reason within the time that is left, and throws. */
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

    /** Sends the others the reason why this rank failed. The caller throws it. */
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
