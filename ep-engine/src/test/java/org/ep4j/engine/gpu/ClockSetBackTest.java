package org.ep4j.engine.gpu;

import com.sun.jna.NativeLibrary;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The clock of a GPU goes back while its kernels wait: no wait ends by that. */
@Timeout(300)
final class ClockSetBackTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE = EpShape.builder(128, 4, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    static void offset(Duration later) {
        NativeLibrary.getInstance(System.getenv("EP_CUDA_DRIVER"))
                .getFunction("emulatedClock")
                .invokeVoid(new Object[] {later.toNanos()});
    }

    @AfterEach
    void rightTime() {
        offset(Duration.ZERO);
    }

    private static void operation(Rank rank, boolean lowLatency) {
        Tensor x = rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden());
        int[] all = IntStream.range(0, TOKENS * SHAPE.topK())
                .map(i -> i % SHAPE.experts())
                .toArray();
        Tensor ids = rank.ints(all, TOKENS, SHAPE.topK());
        OpOptions options = OpOptions.DEFAULT.timeout(Duration.ofSeconds(60));
        if (lowLatency) {
            rank.buffer()
                    .dispatch(LowLatencyDispatchRequest.of(x, ids)
                            .waitStats(rank.longs(new long[2], 2))
                            .options(options)
                            .build());
        } else {
            rank.buffer().dispatch(DispatchRequest.of(x, ids).options(options).build());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void operationsThatWaitGoOn(boolean lowLatency) {
        try (GpuAgainstHost ranks = new GpuAgainstHost(SHAPE, 2)) {
            ranks.onGpus(rank -> {
                if (rank.number() == 0) {
                    operation(rank, lowLatency);
                } else {
                    sleep();
                    offset(Duration.ofSeconds(-30));
                    sleep();
                    operation(rank, lowLatency);
                }
            });
        }
    }

    private static void sleep() {
        try {
            TimeUnit.MILLISECONDS.sleep(500);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
