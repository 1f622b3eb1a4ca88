package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A buffer that is closed while its operations wait in a stream behind work that does not end. The close waits for 10 s. */
@Tag("all")
final class CloseUnderWorkTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxTokens(TOKENS).build();

    private static DispatchRequest request(Rank rank) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        return DispatchRequest.builder(
                        rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()),
                        rank.ints(ids, TOKENS, SHAPE.topK()))
                .worstCase()
                .build();
    }

    @Test
    void keepsMemoryUntilItsKernelsHaveRun() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                EngineGpu device = (EngineGpu) rank.group().device();
                try (GpuStream stream = device.createStream()) {
                    OpOptions options = OpOptions.DEFAULT.asynchronous().onStream(stream.handle());
                    EpBuffer buffer = rank.buffer().withOptions(options);
                    EpBuffer other = rank.group().createBuffer(SHAPE).withOptions(options);
                    DispatchRequest request = request(rank);
                    if (rank.number() == 0) {
                        DispatchResult before = other.dispatch(request);
                        DispatchResult behind = buffer.dispatch(request);
                        DeviceMemory memory = rank.buffer().combineInput().memory();
                        rank.buffer().close();
                        rank.group().barrier(Guard.minute());
                        before.event().await(Guard.minute());
                        assertThatThrownBy(() -> behind.event().await(Guard.minute()))
                                .isInstanceOf(EpStateException.class)
                                .hasMessageContaining("closed");
                        ByteBuffer word = ByteBuffer.allocate(8);
                        device.download(memory.slice(0, 8), word);
                        assertThat(word.remaining()).isZero();
                        rank.buffer().close();
                        assertThatThrownBy(() -> device.download(memory.slice(0, 8), ByteBuffer.allocate(8)))
                                .as("a second close gives it back")
                                .isInstanceOf(EpStateException.class);
                    } else {
                        rank.group().barrier(Guard.minute());
                        other.dispatch(request).event().await(Guard.minute());
                    }
                    rank.group().barrier(Guard.minute());
                }
            });
        }
    }
}
