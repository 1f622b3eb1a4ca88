package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.host.RoutingLayout;
import org.ep4j.engine.memory.HostMemory;

/** Where tokens would go, counted on the host from a copy of the ids: the answer is the host's anyway. */
final class RoutingCounts {
    private RoutingCounts() {}

    static DispatchLayout layout(Tensor topkIds, GpuState state, int[] hostOf) {
        RequestChecks checks = state.checks();
        int tokens = checks.layoutTokens(topkIds);
        checks.ids(topkIds, tokens);
        ByteBuffer copy = ByteBuffer.allocateDirect((int) topkIds.byteSize()).order(ByteOrder.nativeOrder());
        state.device().download(topkIds.memory(), copy);
        Tensor onHost = Tensor.of(
                new DeviceMemory(HostMemory.address(copy), copy.capacity(), Device.HOST),
                topkIds.type(),
                tokens,
                state.shape().topK());
        try {
            return RoutingLayout.of(
                    onHost,
                    tokens,
                    state.shape(),
                    state.placement(),
                    state.waits().mask(),
                    hostOf);
        } finally {
            java.lang.ref.Reference.reachabilityFence(copy);
        }
    }
}
