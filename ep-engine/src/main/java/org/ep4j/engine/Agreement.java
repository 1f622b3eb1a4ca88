package org.ep4j.engine;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.Bootstrap;

/** Steps that succeed on all ranks or on none: a rank that cannot go on tells the others why. */
final class Agreement {
    private static final byte OK = 0;
    private static final byte REFUSED = 1;

    private final Bootstrap bootstrap;
    private final List<Integer> ranks;

    /** Among all ranks. */
    Agreement(Bootstrap bootstrap) {
        this(bootstrap, IntStream.range(0, bootstrap.size()).boxed().toList());
    }

    /**
     * Among some ranks.
     *
     * @param bootstrap its member {@code i} is {@code ranks.get(i)}
     */
    Agreement(Bootstrap bootstrap, List<Integer> ranks) {
        this.bootstrap = bootstrap;
        this.ranks = List.copyOf(ranks);
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
        List<byte[]> all = gather(step, join(OK, mine), deadline);
        for (int r = 0; r < all.size(); r++) {
            byte[] body = Arrays.copyOfRange(all.get(r), 1, all.get(r).length);
            if (all.get(r)[0] == OK) {
                bodies.add(body);
            } else {
                refusals.add("rank " + ranks.get(r) + ": " + new String(body, StandardCharsets.UTF_8));
            }
        }
        if (!refusals.isEmpty()) {
            throw new EpUnavailableException("stopped by other ranks, " + String.join("; ", refusals));
        }
        return bodies;
    }

    /**
     * Does this rank's part of a step and waits until all ranks have done theirs. When it fails on one rank, whatever it fails with,
     * the others hear at once.
     *
     * @return what {@code work} gave here
     * @throws EpUnavailableException when another rank could not do its part, with its reason
     */
    <T> T step(String step, Duration deadline, Supplier<T> work) {
        T done;
        try {
            done = work.get();
        } catch (RuntimeException | Error e) {
            refuse(step, e, deadline);
            throw e;
        }
        exchange(step, new byte[0], deadline);
        return done;
    }

    /** This rank could not do its part, for a reason that it throws itself; the others are told. */
    void refuse(String step, Throwable reason, Duration deadline) {
        try {
            String text = reason instanceof EpException ? String.valueOf(reason.getMessage()) : reason.toString();
            gather(step, join(REFUSED, text.getBytes(StandardCharsets.UTF_8)), deadline);
        } catch (RuntimeException | Error e) {
            reason.addSuppressed(e);
        }
    }

    /** The bootstrap counts its own members; the user knows the ranks of the group. */
    private List<byte[]> gather(String step, byte[] mine, Duration deadline) {
        try {
            return bootstrap.allGather(step, mine, deadline);
        } catch (EpPeerLostException e) {
            throw e.peer() < 0 ? e : renamed(new EpPeerLostException(text(e), ranks.get(e.peer()), e.phase()), e);
        } catch (EpTimeoutException e) {
            throw e.peer() < 0
                    ? e
                    : renamed(
                            new EpTimeoutException(text(e), e.phase(), ranks.get(e.peer()), e.expected(), e.seen()), e);
        }
    }

    private static <E extends EpException> E renamed(E named, EpException cause) {
        named.initCause(cause);
        return named;
    }

    private static String text(EpException e) {
        return String.valueOf(e.getMessage());
    }

    private static byte[] join(byte head, byte[] body) {
        byte[] all = new byte[body.length + 1];
        all[0] = head;
        System.arraycopy(body, 0, all, 1, body.length);
        return all;
    }
}
