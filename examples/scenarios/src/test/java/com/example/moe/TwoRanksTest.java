package com.example.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.util.Set;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two ranks on the host: the README's example with other numbers, and the same in memory that ep4j has not allocated. */
@Tag("verify")
final class TwoRanksTest {
    private static final int TOKENS = 4;
    private static final int HIDDEN = 64;
    private static final int TOP_K = 2;

    /** One expert on each rank for every token. */
    private static final int[] IDS = {0, 4, 1, 5, 2, 6, 3, 7};

    /** Where tensors lie. */
    private interface Memory {
        DeviceMemory allocate(EpDevice device, int bytes) throws ReflectiveOperationException;
    }

    @Test
    void tensorsOfAnArena() throws InterruptedException {
        Ranks.run(2, member -> {
            EpShape shape = EpShape.builder(HIDDEN, 8, TOP_K).maxTokens(TOKENS).build();
            try (EpGroup group = EpGroup.join(member, Ranks.settings().build());
                    TensorArena arena = group.device().arena(); // closed after the buffer, which uses its memory
                    EpBuffer buffer = group.createBuffer(shape)) {
                float[] tokens = tokens(group.rank());
                DispatchResult sent =
                        buffer.dispatch(arena.bf16(tokens, TOKENS, HIDDEN), arena.int32(IDS, TOKENS, TOP_K));
                checkRows(group.device(), sent);
                ScaledExperts.apply(buffer, sent);
                float[] sums = group.device()
                        .floats(buffer.combine(sent.x(), sent.handle()).out());
                assertThat(sums).isEqualTo(expected(buffer, tokens));
            }
        });
    }

    @Test
    void directBuffers() throws InterruptedException {
        exchangeIn((device, bytes) -> device.wrap(direct(bytes)));
    }

    /** Memory of which only the address is known, and the object that frees it. */
    @Test
    void addressesThatKeepTheirOwner() throws InterruptedException {
        exchangeIn((device, bytes) -> {
            ByteBuffer owner = direct(bytes);
            long address = device.wrap(owner).address();
            return DeviceMemory.of(address, bytes, Device.HOST).keeping(owner);
        });
    }

    /** Compiled for JDK 17, so {@code Arena.ofAuto().allocate(bytes, 16)} is called by name. */
    @Test
    void memorySegments() throws InterruptedException {
        boolean there = Runtime.version().feature() >= 22;
        if (!there) {
            System.out.println("skipped: MemorySegment needs JDK 22, this is " + Runtime.version());
        }
        assumeTrue(there, "no MemorySegment before JDK 22");
        exchangeIn((device, bytes) -> {
            Class<?> arenas = Class.forName("java.lang.foreign.Arena");
            Object arena = arenas.getMethod("ofAuto").invoke(null);
            Object segment = arenas.getMethod("allocate", long.class, long.class)
                    .invoke(arena, Long.valueOf(bytes), Long.valueOf(16));
            Object address = Class.forName("java.lang.foreign.MemorySegment")
                    .getMethod("address")
                    .invoke(segment);
            return DeviceMemory.of((Long) address, bytes, Device.HOST).keeping(segment);
        });
    }

    private static void exchangeIn(Memory memory) throws InterruptedException {
        Ranks.run(2, member -> {
            EpShape shape = EpShape.builder(HIDDEN, 8, TOP_K).maxTokens(TOKENS).build();
            try (EpGroup group = EpGroup.join(member, Ranks.settings().build());
                    TensorArena arena = group.device().arena();
                    EpBuffer buffer = group.createBuffer(shape)) {
                float[] tokens = tokens(group.rank());
                EpDevice device = group.device();
                int bytes = TOKENS * HIDDEN * 2;
                Tensor x = Tensor.of(memory.allocate(device, bytes), DataType.BF16, TOKENS, HIDDEN);
                Tensor out = Tensor.of(memory.allocate(device, bytes), DataType.BF16, TOKENS, HIDDEN);
                // Only the tensors keep the memory.
                System.gc();
                device.upload(Numbers.bytes(tokens), x.memory());
                DispatchResult sent = buffer.dispatch(x, arena.int32(IDS, TOKENS, TOP_K));
                checkRows(device, sent);
                ScaledExperts.apply(buffer, sent);
                buffer.combine(
                        CombineRequest.builder(sent.x(), sent.handle()).out(out).build());
                assertThat(device.floats(out)).isEqualTo(expected(buffer, tokens));
            }
        });
    }

    private static float[] tokens(int rank) {
        return Numbers.bf16(rank, TOKENS * HIDDEN);
    }

    /** One row from each token of each rank, ordered by source rank and token. */
    private static void checkRows(EpDevice device, DispatchResult sent) {
        assertThat(sent.rows()).isEqualTo(2 * TOKENS);
        assertThat(device.ints(sent.sourceRanks())).containsExactly(0, 0, 0, 0, 1, 1, 1, 1);
        assertThat(device.ints(sent.sourceTokens())).containsExactly(0, 1, 2, 3, 0, 1, 2, 3);
        assertThat(device.floats(sent.x().rows(0, TOKENS))).isEqualTo(tokens(0));
        assertThat(device.floats(sent.x().rows(TOKENS, TOKENS))).isEqualTo(tokens(1));
    }

    private static float[] expected(EpBuffer buffer, float[] tokens) {
        return ScaledExperts.expected(tokens, IDS, TOP_K, buffer.placement(), Set.of());
    }

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes + 16).alignedSlice(16);
    }
}
