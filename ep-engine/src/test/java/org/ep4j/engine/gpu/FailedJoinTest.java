package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.NativeLibrary;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.cuda.CudaDevice;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A group that does not come about keeps nothing on the GPU. */
@Tag("verify")
final class FailedJoinTest {
    /** No other test uses it. */
    private static final int GPU = 5;

    @Test
    void deviceIsClosed() {
        EmulatedCuda.require();
        try (CudaDevice device = EmulatedCuda.open(GPU)) {
            assertThat(inUse()).as(device.id() + " while it is open").isTrue();
        }
        assertThat(inUse()).isFalse();
        var groups = Bootstrap.inProcess(2).stream()
                .map(b -> CompletableFuture.supplyAsync(() -> EpGroup.join(
                        b,
                        EpConfig.builder(Map.of(), Map.of())
                                .set(EpKeys.DEVICE.name(), "cuda:" + GPU)
                                .require("nothing")
                                .build())))
                .toList();
        groups.forEach(group -> assertThatThrownBy(group::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(EpException.class)
                .hasMessageContaining("nothing"));
        assertThat(inUse()).isFalse();
    }

    /** True while somebody holds the primary context. */
    private static boolean inUse() {
        int[] flags = new int[1];
        int[] active = new int[1];
        int result = NativeLibrary.getInstance(System.getenv("EP_CUDA_DRIVER"))
                .getFunction("cuDevicePrimaryCtxGetState")
                .invokeInt(new Object[] {GPU, flags, active});
        assertThat(result).isZero();
        return active[0] != 0;
    }
}
