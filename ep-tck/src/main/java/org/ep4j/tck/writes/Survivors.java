package org.ep4j.tck.writes;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpPeerLostException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.SymmetricBuffer;

/**
 * Three ranks on one host with host memory, of which rank 0 stops taking part while it is alive, and ranks 1 and 2 go on
 * without it: what they expose then connects them alone, and they are watched over the new bootstrap.
 *
 * @param provider the backend, whose paths are posted by the host
 * @param plan as {@link #plan}
 * @param config as {@link TwoRanks#config}
 * @param patience longest time that anything may take that should be quick
 * @param watches true when the backend counts a peer that has left its bootstrap as lost, which is tried then
 */
public record Survivors(EpBackendProvider provider, EpPlan plan, EpConfig config, Duration patience, boolean watches) {
    private static final int RANKS = 3;
    private static final List<Integer> LEFT = List.of(1, 2);
    private static final long BYTES = 4096;
    private static final int COUNTER = 9;
    private static final int WHOLE = 6;

    /**
     * A plan of the three.
     *
     * @param backend its id
     * @param facts what its probe reported
     * @param nics ports that a rank uses for another one, as {@code name:port}
     */
    public static EpPlan plan(
            String backend, Map<String, String> facts, BiFunction<Integer, Integer, List<String>> nics) {
        List<PairPath> paths = new ArrayList<>();
        for (int from = 0; from < RANKS; from++) {
            for (int to = 0; to < RANKS; to++) {
                List<String> used = from == to ? List.of() : nics.apply(from, to);
                PathOffer offer = from == to
                        ? new PathOffer(PathKind.LOCAL, 1000, 0.1, List.of())
                        : new PathOffer(PathKind.HOST_POSTED, 10, 4, used);
                paths.add(new PairPath(from, to, from == to ? "local" : backend, offer, List.of(), used, 1));
            }
        }
        return EpPlan.of(
                IntStream.range(0, RANKS)
                        .mapToObj(rank -> new RankProfile(
                                rank,
                                "host",
                                "host-" + rank,
                                1000 + rank,
                                Device.HOST,
                                Map.of(backend, new RankProfile.BackendProfile(true, "", facts)),
                                Map.of()))
                        .toList(),
                paths);
    }

    /**
     * Runs it in threads.
     *
     * @throws AssertionError with what the first rank that failed threw
     */
    public void run() {
        List<Bootstrap> members = Bootstraps.inProcess(RANKS);
        ExecutorService threads = Executors.newFixedThreadPool(RANKS);
        CountDownLatch over = new CountDownLatch(LEFT.size());
        try {
            List<Future<?>> futures = members.stream()
                    .<Future<?>>map(member -> threads.submit(() -> part(member, over)))
                    .toList();
            for (Future<?> future : futures) {
                future.get(WHOLE * patience.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError("a rank failed: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        } finally {
            threads.shutdownNow();
            members.forEach(Bootstrap::close);
        }
    }

    private void part(Bootstrap bootstrap, CountDownLatch over) {
        OpenContext context = new OpenContext(
                plan,
                bootstrap.rank(),
                IntStream.range(0, RANKS).boxed().toList(),
                bootstrap,
                new HostDevice(),
                config,
                patience);
        try (EpBackend backend = provider.open(context);
                DeviceAllocation first = context.device().allocate(BYTES);
                SymmetricBuffer before = expose(backend, "before", first)) {
            exchange(context, before, List.of(0, 1, 2), 1);
            // One that still waits for its writes would come to find that it is cut off.
            bootstrap.barrier("exchanged", patience);
            if (context.rank() == 0) {
                await(over);
            } else {
                try {
                    goOn(context, backend, before);
                } finally {
                    over.countDown();
                }
            }
        }
    }

    private void goOn(OpenContext context, EpBackend backend, SymmetricBuffer before) {
        int peer = LEFT.get(1 - LEFT.indexOf(context.rank()));
        Bootstrap left = context.bootstrap().subgroup("left", LEFT);
        posted(before).disconnect(0);
        backend.continueWith(left, LEFT);
        try (DeviceAllocation second = context.device().allocate(BYTES);
                SymmetricBuffer after = expose(backend, "after", second)) {
            exchange(context, after, LEFT, 1);
            exchange(context, before, LEFT, 2);
            requireUnknown(after);
            left.barrier("exchanged", patience);
            Bootstrap both = context.bootstrap().subgroup("both", LEFT);
            if (context.rank() == 1) {
                left.close();
            } else if (watches) {
                awaitLoss(after, peer);
            }
            both.barrier("lost", patience);
        }
    }

    private SymmetricBuffer expose(EpBackend backend, String name, DeviceAllocation allocation) {
        return backend.expose(name, BYTES, Optional.of(ExposedMemory.of(allocation.memory())), patience);
    }

    private static HostPosted posted(SymmetricBuffer buffer) {
        return buffer.as(HostPosted.class).orElseThrow();
    }

    /** Every rank writes a word to every other, at a place of its own, and checks what came. */
    private void exchange(OpenContext context, SymmetricBuffer buffer, List<Integer> ranks, int round) {
        HostMemory memory = HostMemory.of(buffer.local());
        HostPosted posted = posted(buffer);
        long source = BYTES / 2;
        memory.putLong(source, word(context.rank(), round));
        List<Integer> peers =
                ranks.stream().filter(rank -> rank != context.rank()).toList();
        for (int peer : peers) {
            posted.write(peer, (long) Long.BYTES * context.rank(), source, Long.BYTES);
            posted.advance(peer, COUNTER, round);
        }
        for (int peer : peers) {
            long end = System.nanoTime() + patience.toNanos();
            while (posted.seen(COUNTER, peer) < round) {
                if (System.nanoTime() - end > 0) {
                    throw new AssertionError("rank " + context.rank() + " sees nothing of rank " + peer);
                }
                LockSupport.parkNanos(10_000);
            }
            long found = memory.getLong((long) Long.BYTES * peer);
            if (found != word(peer, round)) {
                throw new AssertionError(
                        "rank " + context.rank() + " found " + Long.toHexString(found) + " of rank " + peer);
            }
        }
        peers.forEach(peer -> posted.drain(peer, patience));
    }

    private static long word(int rank, int round) {
        return 0x5eed_0000_0000L + 256L * round + rank;
    }

    private static void requireUnknown(SymmetricBuffer buffer) {
        try {
            posted(buffer).write(0, 0, 0, Long.BYTES);
        } catch (IllegalArgumentException e) {
            return;
        }
        throw new AssertionError("rank 0 was written to by a buffer that it has not exposed");
    }

    /** The peer has left the survivors alone: whoever watches the first bootstrap does not notice. */
    private void awaitLoss(SymmetricBuffer buffer, int peer) {
        long end = System.nanoTime() + patience.toNanos();
        while (System.nanoTime() - end < 0) {
            try {
                posted(buffer).advance(peer, COUNTER, 1);
            } catch (EpPeerLostException e) {
                return;
            }
            LockSupport.parkNanos(1_000_000);
        }
        throw new AssertionError("rank " + peer + " has left and is not lost");
    }

    private void await(CountDownLatch over) {
        try {
            if (!over.await(WHOLE * patience.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("ranks " + LEFT + " do not come to an end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}
