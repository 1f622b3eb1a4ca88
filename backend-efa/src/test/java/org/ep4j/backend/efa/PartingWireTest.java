package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Goodbyes over two wires that keep order, and that must not close with anything unread. */
@Tag("verify")
final class PartingWireTest {
    private static final int SLOTS = 4;
    private static final int FAR = 101;

    /** Both ends of two rails. */
    private static final class Network {
        private final List<List<Deque<int[]>>> queues = List.of(
                List.of(new ArrayDeque<>(), new ArrayDeque<>()), List.of(new ArrayDeque<>(), new ArrayDeque<>()));
        private final boolean[] closed = new boolean[2];
        private boolean broken;

        synchronized int write(int side, int rail, int slot, int immediate, Random random) {
            if (random.nextInt(5) == 0) {
                return -FabricError.EAGAIN;
            }
            if (broken || closed[1 - side]) {
                queues.get(side).get(rail).add(new int[] {Completions.FAILED, slot, 0, FAR});
                return 0;
            }
            queues.get(1 - side).get(rail).add(new int[] {Completions.CAME, -1, immediate, 0});
            queues.get(side).get(rail).add(new int[] {Completions.SENT, slot, 0, 0});
            return 0;
        }

        synchronized int poll(int side, int rail, Completions into, Random random) {
            Deque<int[]> queue = queues.get(side).get(rail);
            int count = random.nextInt(Math.min(queue.size(), into.capacity()) + 1);
            for (int i = 0; i < count; i++) {
                int[] one = queue.remove();
                into.set(i, one[0], one[1], one[2], one[3]);
            }
            return count;
        }

        /** As the provider does: the end that closes, and the other one too, must have read what came. */
        synchronized void close(int side, boolean parted) {
            closed[side] = true;
            if (parted && queues.get(side).stream().anyMatch(queue -> !queue.isEmpty())) {
                throw new AssertionError("side " + side + " closes with something unread");
            }
            for (Deque<int[]> queue : queues.get(1 - side)) {
                // What may be left is the answer to the other side's goodbye, which nothing follows.
                if (parted
                        && !broken
                        && queue.stream()
                                        .filter(one -> one[0] == Completions.CAME)
                                        .count()
                                > 1) {
                    throw new AssertionError("side " + side + " closes before the other has read");
                }
            }
        }
    }

    private static PartingWire wire(Network network, int side, long seed, Duration patience, AtomicBoolean parted) {
        Random random = new Random(seed);
        Wire plain = new Wire() {
            @Override
            public int write(int rail, long remote, long key, long local, long from, long length, int slot, int word) {
                return network.write(side, rail, slot, word, random);
            }

            @Override
            public int poll(int rail, Completions into) {
                return network.poll(side, rail, into, random);
            }

            @Override
            public String failure(int rail) {
                return "";
            }

            @Override
            public String error(int error) {
                return "";
            }

            @Override
            public void close() {
                network.close(side, parted.get());
            }
        };
        return new PartingWire(
                plain,
                (rail, slot, word) -> network.write(side, rail, slot, word, random),
                new int[] {SLOTS, SLOTS},
                patience,
                () -> parted.set(true));
    }

    /** Writes and polls for a while, then closes. */
    private static void use(PartingWire wire, long seed) {
        Random random = new Random(seed);
        Completions into = new Completions(8);
        int steps = random.nextInt(200);
        for (int i = 0; i < steps; i++) {
            int rail = random.nextInt(2);
            wire.write(rail, 0, 0, 0, 0, 8, random.nextInt(SLOTS), Immediate.of(Immediate.DATA, i));
            if (random.nextInt(3) == 0) {
                wire.poll(rail, into);
            }
        }
        wire.close();
    }

    @Test
    void nothingIsUnreadWhereBothClose() throws Exception {
        for (int round = 0; round < 200; round++) {
            Network network = new Network();
            AtomicBoolean first = new AtomicBoolean();
            AtomicBoolean second = new AtomicBoolean();
            PartingWire one = wire(network, 0, round, Guard.minute(), first);
            PartingWire other = wire(network, 1, round + 1000, Guard.minute(), second);
            long seed = round;
            CompletableFuture<Void> beside = CompletableFuture.runAsync(() -> use(other, seed + 5000));
            use(one, seed);
            beside.get(Guard.minutes(2).toSeconds(), TimeUnit.SECONDS);
            assertThat(first).isTrue();
            assertThat(second).isTrue();
        }
    }

    @Test
    void endpointsStayOpenWhereThePeerDoesNotAnswer() {
        AtomicBoolean parted = new AtomicBoolean();
        wire(new Network(), 0, 1, Duration.ofMillis(20), parted).close();
        assertThat(parted).isFalse();
    }

    @Test
    void aConnectionThatHasFailedClosesWhenItIsEmpty() {
        AtomicBoolean parted = new AtomicBoolean();
        Network network = new Network();
        network.broken = true;
        use(wire(network, 0, 1, Guard.minute(), parted), 7);
        assertThat(parted).isTrue();
    }
}
