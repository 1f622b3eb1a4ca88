package org.ep4j.transport;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpPlan;
import org.ep4j.EpResourceException;
import org.ep4j.EpTimeoutException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.jspecify.annotations.Nullable;

/**
 * Steps that the ranks of a backend take together: a step that fails on one rank fails on all, with that rank's reason.
 * Each step is one all-gather. Callers undo what they did when a step throws. Safe for use from several threads.
 */
public final class Collective {
    private static final byte DONE = 0;
    private static final byte TOO_LITTLE = 1;
    private static final byte FAILED = 2;

    private static final int SHOWN = 4;

    private final String backend;
    private final Bootstrap bootstrap;
    private final EpPlan plan;
    private final List<RankProfile> profiles;
    private final List<Integer> ranks;
    /** Ranks that opened the backend. */
    private final List<Integer> all;
    /** Recourse of a rank that did its part of a step when another rank failed in its own; empty for the usual one. */
    private final Optional<EpException.Recourse> stopped;

    /**
     * Creates the steps of the ranks that open a backend.
     *
     * @param backend its id, for messages and tags
     */
    public Collective(String backend, OpenContext context) {
        this(
                backend,
                context.bootstrap(),
                context.plan(),
                context.profiles(),
                context.ranks(),
                context.ranks(),
                Optional.empty());
    }

    private Collective(
            String backend,
            Bootstrap bootstrap,
            EpPlan plan,
            List<RankProfile> profiles,
            List<Integer> ranks,
            List<Integer> all,
            Optional<EpException.Recourse> stopped) {
        this.backend = backend;
        this.bootstrap = bootstrap;
        this.plan = plan;
        this.profiles = profiles;
        this.ranks = List.copyOf(ranks);
        this.all = List.copyOf(all);
        this.stopped = stopped;
    }

    /**
     * Returns the steps of the ranks that recover. If one of them fails, the others may recover again, without it if it has ended.
     *
     * @param members bootstrap over these ranks
     * @param some ascending
     */
    public Collective among(Bootstrap members, List<Integer> some) {
        return new Collective(backend, members, plan, profiles, some, all, Optional.of(EpException.Recourse.RECOVER));
    }

    /** Number of ranks that opened the backend, whether they take part or not. */
    public int opened() {
        return all.size();
    }

    /**
     * Returns values of ranks in the order of all ranks that opened the backend.
     *
     * @param given in the order of {@link #ranks()}
     * @param absent for ranks that take no part
     */
    public <T> List<T> byOpened(List<T> given, T absent) {
        return all.stream()
                .map(rank -> {
                    // Both lists are ascending.
                    int index = Collections.binarySearch(ranks, rank);
                    return index < 0 ? absent : given.get(index);
                })
                .toList();
    }

    /** Ranks that take part, ascending. */
    public List<Integer> ranks() {
        return ranks;
    }

    /** Id of the backend. */
    public String backend() {
        return backend;
    }

    /** Returns true if the plan lets {@code from} reach {@code to} over this backend; false for a rank and itself. */
    public boolean connects(int from, int to) {
        return from != to && backend(from, to).equals(backend);
    }

    /** The planner's own plan builds a path at each call, but keeps the backend. */
    private String backend(int from, int to) {
        return plan instanceof GroupPlan own
                ? own.backend(from, to)
                : plan.path(from, to).backend();
    }

    /** Name of a rank for messages. */
    public String label(int rank) {
        return profiles.get(rank).label();
    }

    /** Starts a failure with a rank, with what the plan knows of that rank. */
    public EpFailure.Builder about(String phase, int rank) {
        return EpFailure.builder(phase, rank)
                .host(profiles.get(rank).hostName())
                .path(plan.path(ranks.get(bootstrap.rank()), rank));
    }

    /**
     * Does this rank's part and waits for the others'.
     *
     * @param step unique in the life of the backend
     * @param work gives the bytes that the others get from this rank
     * @return what the ranks gave, in the order of {@link #ranks()}
     * @throws EpException what {@code work} threw here; {@link EpResourceException} or another one where it failed on
     *     another rank
     */
    public List<byte[]> step(String step, Deadline deadline, Supplier<byte[]> work) {
        return step(step, deadline, work, () -> {});
    }

    /**
     * Does this rank's part and waits for the others', as {@link #step(String, Deadline, Supplier)}.
     *
     * @param answered runs when all ranks have answered, also if a rank has failed. If the step then throws here, it throws on all ranks
     */
    public List<byte[]> step(String step, Deadline deadline, Supplier<byte[]> work, Runnable answered) {
        byte[] mine;
        @Nullable Throwable failure = null;
        try {
            mine = frame(DONE, work.get());
        } catch (RuntimeException | Error e) {
            failure = e;
            mine = frame(e instanceof EpResourceException ? TOO_LITTLE : FAILED, text(e));
        }
        List<byte[]> all;
        try {
            all = bootstrap.allGather(backend + "/" + step, mine, deadline.left());
        } catch (RuntimeException e) {
            if (failure != null) {
                failure.addSuppressed(e);
                throw rethrow(failure);
            }
            throw inPlanRanks(step, e);
        }
        answered.run();
        if (failure != null) {
            throw rethrow(failure);
        }
        return payloads(step, all);
    }

    /**
     * Does this rank's part; the others learn only whether it failed.
     *
     * @return what {@code work} gave here
     * @throws EpException as {@link #step}
     */
    public <T> T apart(String step, Deadline deadline, Supplier<T> work) {
        List<T> done = new ArrayList<>(1);
        step(step, deadline, () -> {
            done.add(work.get());
            return new byte[0];
        });
        return done.get(0);
    }

    /**
     * Refuses a buffer that has not the same size everywhere; every rank sees the same sizes here, so all refuse it.
     *
     * @param bytes of the buffer on each rank, in the order of {@link #ranks()}
     * @throws EpMismatchException naming the first rank that differs
     */
    public void requireEqualSizes(String buffer, List<Long> bytes) {
        for (int i = 1; i < bytes.size(); i++) {
            if (!bytes.get(i).equals(bytes.get(0))) {
                throw new EpMismatchException("buffer \"" + buffer + "\" is " + bytes.get(0) + " bytes on "
                        + label(ranks.get(0)) + " and " + bytes.get(i) + " bytes on " + label(ranks.get(i))
                        + "; create it with the same size on all ranks");
            }
        }
    }

    private List<byte[]> payloads(String step, List<byte[]> all) {
        List<String> reasons = new ArrayList<>();
        boolean resource = false;
        List<byte[]> payloads = new ArrayList<>(all.size());
        for (int i = 0; i < all.size(); i++) {
            byte[] frame = all.get(i);
            byte[] payload = frame.length == 0 ? frame : Arrays.copyOfRange(frame, 1, frame.length);
            byte kind = frame.length == 0 ? FAILED : frame[0];
            if (kind == DONE) {
                payloads.add(payload);
            } else {
                resource |= kind == TOO_LITTLE;
                reasons.add(label(ranks.get(i)) + ": " + new String(payload, StandardCharsets.UTF_8));
            }
        }
        if (!reasons.isEmpty()) {
            int more = reasons.size() - SHOWN;
            String message = backend + " failed in step \"" + step + "\" on "
                    + String.join("; ", reasons.subList(0, Math.min(SHOWN, reasons.size())))
                    + (more > 0 ? "; and on " + more + " more ranks" : "");
            throw resource
                    ? new EpResourceException(message, stopped.orElse(EpException.Recourse.INSTALL))
                    : new EpException(message, stopped.orElse(EpException.Recourse.FIX_CALL));
        }
        return payloads;
    }

    /** The bootstrap numbers the members of this backend; the user knows the ranks of the group. */
    private RuntimeException inPlanRanks(String step, RuntimeException e) {
        RuntimeException named;
        if (e instanceof EpPeerLostException lost && isMember(lost.failure().peer())) {
            int rank = ranks.get(lost.failure().peer());
            named = new EpPeerLostException(
                    label(rank) + " was lost while " + backend + " waited for it in step \"" + step + "\": "
                            + lost.getMessage(),
                    about(step, rank).build(),
                    lost.recourse());
        } else if (e instanceof EpTimeoutException late
                && isMember(late.failure().peer())) {
            int rank = ranks.get(late.failure().peer());
            named = new EpTimeoutException(
                    label(rank) + " did not answer in time in step \"" + step + "\" of " + backend + ": "
                            + late.getMessage(),
                    about(step, rank)
                            .expected(late.failure().expected())
                            .seen(late.failure().seen())
                            .build(),
                    late.recourse());
        } else {
            return e;
        }
        named.initCause(e);
        return named;
    }

    private boolean isMember(int index) {
        return index >= 0 && index < ranks.size();
    }

    private static byte[] frame(byte kind, byte[] payload) {
        byte[] frame = new byte[payload.length + 1];
        frame[0] = kind;
        System.arraycopy(payload, 0, frame, 1, payload.length);
        return frame;
    }

    private static byte[] text(Throwable e) {
        String message = e.getMessage();
        String text = e instanceof EpException && message != null ? message : e.toString();
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static RuntimeException rethrow(Throwable failure) {
        if (failure instanceof RuntimeException e) {
            return e;
        }
        throw (Error) failure;
    }
}
