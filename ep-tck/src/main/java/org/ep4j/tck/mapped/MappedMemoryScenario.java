package org.ep4j.tck.mapped;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.EnumSet;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpResourceException;
import org.ep4j.EpStateException;
import org.ep4j.TensorArena;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** The ranks of {@link MappedMemoryTck}: they plan, open the backend, and run one case. */
public final class MappedMemoryScenario implements Scenario {
    /** Parameter with the id of the backend. */
    static final String BACKEND = "backend";

    /** Parameter with the case: {@code data}, {@code close}, {@code death}, {@code refusals} or {@code many}. */
    static final String CASE = "case";

    private static final Duration DEADLINE = MappedRank.DEADLINE;
    private static final int BYTES = 3 * 4096;
    /** Offset of the flags by which ranks signal that they are done. */
    private static final int DONE = 4096;

    @Override
    public void run(RankContext context) {
        String id = context.params().text(BACKEND, "");
        try (MappedRank rank = MappedRank.of(context, id, UnaryOperator.identity());
                EpBackend backend = rank.backend()) {
            EpDevice device = rank.open().device();
            switch (context.params().text(CASE, "")) {
                case "data" -> data(context, device, backend);
                case "close" -> close(context, device, backend);
                case "death" -> death(context, rank.open().bootstrap(), device, backend);
                case "refusals" -> refusals(context, backend);
                case "many" -> many(context, device, backend);
                default -> throw new IllegalArgumentException("no such case: " + context.params());
            }
        }
    }

    private static SymmetricBuffer expose(EpBackend backend, String name) {
        return expose(backend, name, BYTES, DEADLINE);
    }

    private static SymmetricBuffer expose(EpBackend backend, String name, long bytes, Duration longest) {
        return backend.as(AllocatesMemory.class).orElseThrow().allocate(name, bytes, Purpose.MAPPED, longest);
    }

    private static DeviceMemory peer(SymmetricBuffer buffer, int rank) {
        return buffer.as(MappedPeers.class).orElseThrow().peer(rank);
    }

    private static void put(EpDevice device, DeviceMemory memory, long offset, long value) {
        ByteBuffer word = ByteBuffer.allocateDirect(8).putLong(value).flip();
        device.upload(word, memory.slice(offset, 8));
    }

    private static long get(EpDevice device, DeviceMemory memory, long offset) {
        ByteBuffer word = ByteBuffer.allocateDirect(8);
        device.download(memory.slice(offset, 8), word);
        return word.flip().getLong();
    }

    /** Memory is zero at first; then every rank writes to the memory of all ranks, which find the values. */
    private static void data(RankContext context, EpDevice device, EpBackend backend) {
        assertThat(backend.as(AllocatesMemory.class).orElseThrow().purposes()).contains(Purpose.MAPPED);
        assertThat(backend.as(RegistersMemory.class)).isEmpty();
        try (SymmetricBuffer buffer = expose(backend, "data")) {
            assertThat(peer(buffer, context.rank())).isEqualTo(buffer.local());
            for (int r = 0; r < context.size(); r++) {
                DeviceMemory memory = peer(buffer, r);
                assertThat(memory.byteSize()).isEqualTo(BYTES);
                ByteBuffer all = ByteBuffer.allocateDirect(BYTES);
                device.download(memory, all);
                all.flip();
                while (all.hasRemaining()) {
                    assertThat(all.get()).isZero();
                }
            }
            context.barrier();
            for (int r = 0; r < context.size(); r++) {
                put(device, peer(buffer, r), 8L * context.rank(), 1000L * r + context.rank() + 1);
                put(device, peer(buffer, r), BYTES - 8L * (context.rank() + 1), context.rank() + 7);
            }
            context.barrier();
            for (int from = 0; from < context.size(); from++) {
                assertThat(get(device, buffer.local(), 8L * from)).isEqualTo(1000L * context.rank() + from + 1);
                assertThat(get(device, buffer.local(), BYTES - 8L * (from + 1))).isEqualTo(from + 7);
            }
            context.barrier();
        }
    }

    /** Ranks close one after another, and the memory of the others stays unchanged. Closed memory is undefined on GPUs, so it is not read. */
    private static void close(RankContext context, EpDevice device, EpBackend backend) {
        SymmetricBuffer buffer = expose(backend, "close");
        put(device, buffer.local(), 0, 100 + context.rank());
        context.barrier();
        for (int closing = 0; closing < context.size(); closing++) {
            if (closing == context.rank()) {
                buffer.close();
                buffer.close();
                assertThatThrownBy(buffer::local).isInstanceOf(EpStateException.class);
            }
            context.barrier();
            if (closing < context.rank()) {
                for (int r = closing + 1; r < context.size(); r++) {
                    assertThat(get(device, peer(buffer, r), 0)).isEqualTo(100 + r);
                }
            }
            context.barrier();
        }
    }

    private static void await(RankContext context, String what, BooleanSupplier condition) {
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - end).as(what).isNegative();
            context.sleep(Duration.ofMillis(1));
        }
    }

    /** The last rank dies; the others continue, with its memory still mapped. */
    private static void death(RankContext context, Bootstrap bootstrap, EpDevice device, EpBackend backend) {
        SymmetricBuffer buffer = expose(backend, "death");
        int victim = context.size() - 1;
        put(device, buffer.local(), 0, 100 + context.rank());
        context.barrier();
        if (context.isRank(victim)) {
            context.die();
        }
        await(context, "death of rank " + victim, () -> bootstrap.state(victim) == MemberState.LOST);
        for (int r = 0; r < context.size(); r++) {
            assertThat(get(device, peer(buffer, r), 0)).isEqualTo(100 + r);
            put(device, peer(buffer, r), 8L + 8L * context.rank(), 5);
            assertThat(get(device, peer(buffer, r), 8L + 8L * context.rank())).isEqualTo(5);
        }
        // A rank may close its memory only after the last access of all others.
        for (int r = 0; r < victim; r++) {
            put(device, peer(buffer, r), DONE + 8L * context.rank(), 7);
        }
        for (int r = 0; r < victim; r++) {
            long place = DONE + 8L * r;
            await(context, "end of rank " + r, () -> get(device, buffer.local(), place) == 7);
        }
        assertThatThrownBy(() -> expose(backend, "after", BYTES, Duration.ofSeconds(5)))
                .isInstanceOf(EpException.class);
        buffer.close();
        try (TensorArena arena = device.arena()) {
            DeviceMemory own = arena.memory(4096);
            put(device, own, 0, 3);
            assertThat(get(device, own, 0)).isEqualTo(3);
        }
    }

    private static void refusals(RankContext context, EpBackend backend) {
        long odd = context.isRank(0) ? BYTES : 2L * BYTES;
        assertThatThrownBy(() -> expose(backend, "sizes", odd, DEADLINE))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining(BYTES + " bytes on rank 0");
        long wrong = context.isRank(0) ? 100 : BYTES;
        assertThatThrownBy(() -> expose(backend, "pages", wrong, DEADLINE))
                .isInstanceOf(context.isRank(0) ? EpArgumentException.class : EpException.class)
                .hasMessageContaining("multiple of 4096");
        AllocatesMemory allocates = backend.as(AllocatesMemory.class).orElseThrow();
        for (Purpose other : EnumSet.complementOf(EnumSet.copyOf(allocates.purposes()))) {
            assertThatThrownBy(() -> allocates.allocate("other", BYTES, other, DEADLINE))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("purpose is " + other);
        }
        long tooMuch = 1L << 50;
        assertThatThrownBy(() -> expose(backend, "large", tooMuch, DEADLINE))
                .isInstanceOf(EpResourceException.class)
                .hasMessageContaining("bytes");
        try (SymmetricBuffer fine = expose(backend, "fine")) {
            assertThatThrownBy(() -> peer(fine, context.size())).isInstanceOf(IllegalArgumentException.class);
            context.barrier();
        }
        backend.close();
        assertThatThrownBy(() -> expose(backend, "late")).isInstanceOf(EpStateException.class);
        context.barrier();
    }

    /** Buffers are created and closed; their memory stays apart. */
    private static void many(RankContext context, EpDevice device, EpBackend backend) {
        for (int round = 0; round < 5; round++) {
            try (SymmetricBuffer a = expose(backend, "a" + round);
                    SymmetricBuffer b = expose(backend, "b" + round)) {
                int next = (context.rank() + 1) % context.size();
                put(device, peer(a, next), 0, 10L * round + context.rank());
                put(device, peer(b, next), 0, -(10L * round + context.rank()) - 1);
                context.barrier();
                int previous = (context.rank() + context.size() - 1) % context.size();
                assertThat(get(device, a.local(), 0)).isEqualTo(10L * round + previous);
                assertThat(get(device, b.local(), 0)).isEqualTo(-(10L * round + previous) - 1);
                context.barrier();
            }
        }
    }
}
