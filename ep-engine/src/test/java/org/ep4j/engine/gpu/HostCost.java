package org.ep4j.engine.gpu;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;

/**
 * What an asynchronous operation takes of the host, in time and in memory of the heap: one rank and few tokens, so that the
 * GPU keeps up. A program and no test, since times on a shared machine prove nothing. On the emulator the time is the
 * emulator's, and the bytes are those of a real GPU.
 *
 * <p>Run with the class path of the tests and, for the emulator, {@code EP_CUDA_DRIVER} and {@code EP_NVRTC}.
 */
public final class HostCost {
    private static final int TOKENS = 8;
    private static final int BATCH = 8;
    private static final EpShape SHAPE = EpShape.builder(128, 8, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private final EngineGpu device;
    private final GpuStream stream;
    private final int batches;
    private boolean counts;

    private HostCost(EngineGpu device, GpuStream stream, int batches) {
        this.device = device;
        this.stream = stream;
        this.batches = batches;
    }

    /**
     * Prints a line for each operation.
     *
     * @param args how many batches to measure after as many that warm up; 500 when absent
     */
    public static void main(String[] args) {
        int batches = args.length == 0 ? 500 : Integer.parseInt(args[0]);
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of()).set("ep.device", "cuda:0").build();
        try (EpGroup group = EpGroup.join(Bootstrap.inProcess(1).get(0), config);
                GpuStream stream = ((EngineGpu) group.device()).createStream();
                EpBuffer buffer = group.createBuffer(SHAPE)
                        .withOptions(OpOptions.DEFAULT.asynchronous().onStream(stream.handle()))) {
            HostCost cost = new HostCost((EngineGpu) group.device(), stream, batches);
            // What is compiled with only the first operation known is compiled again with the next: those of the first
            // pass do not count.
            for (int pass = 0; pass < 2; pass++) {
                cost.counts = pass == 1;
                cost.highThroughput(buffer);
                cost.lowLatency(buffer);
            }
        }
    }

    private void highThroughput(EpBuffer buffer) {
        Tensor x = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
        DispatchRequest request = DispatchRequest.builder(x, ids()).worstCase().build();
        DispatchRequest byExpert = DispatchRequest.builder(x, ids())
                .layout(RowLayout.BY_EXPERT)
                .worstCase()
                .build();
        measure("dispatch", () -> buffer.dispatch(request).handle().close());
        measure("dispatch by expert", () -> buffer.dispatch(byExpert).handle().close());
        DispatchResult result = buffer.dispatch(request);
        CombineRequest combine =
                CombineRequest.builder(result.x(), result.handle()).build();
        measure("combine", () -> buffer.combine(combine));
    }

    private void lowLatency(EpBuffer buffer) {
        LowLatencyDispatchRequest request = LowLatencyDispatchRequest.builder(
                        tensor(DataType.BF16, TOKENS, SHAPE.hidden()), ids())
                .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                .build();
        measure(
                "low-latency dispatch",
                () -> buffer.lowLatencyDispatch(request).handle().close());
        LowLatencyDispatchResult result = buffer.lowLatencyDispatch(request);
        LowLatencyCombineRequest combine = LowLatencyCombineRequest.builder(
                        tensor(DataType.BF16, SHAPE.experts(), buffer.maxLowLatencyRows(), SHAPE.hidden()),
                        result.handle())
                .build();
        measure("low-latency combine", () -> buffer.lowLatencyCombine(combine));
    }

    private Tensor tensor(DataType type, long... dims) {
        return device.arena().tensor(type, dims);
    }

    private Tensor ids() {
        ByteBuffer ids = ByteBuffer.allocate(4 * TOKENS * SHAPE.topK()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < TOKENS * SHAPE.topK(); i++) {
            ids.putInt(i % SHAPE.experts());
        }
        Tensor tensor = tensor(DataType.INT32, TOKENS, SHAPE.topK());
        device.upload(ids.flip(), tensor.memory());
        return tensor;
    }

    /** The device is idle when a batch begins, and its queue holds the whole of it. */
    private void measure(String name, Runnable operation) {
        var memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        double[] micros = new double[batches];
        long bytes = 0;
        for (int b = -batches; b < batches; b++) {
            long before = memory.getCurrentThreadAllocatedBytes();
            long start = System.nanoTime();
            for (int i = 0; i < BATCH; i++) {
                operation.run();
            }
            long end = System.nanoTime();
            if (b >= 0) {
                micros[b] = (end - start) / 1e3 / BATCH;
                bytes += memory.getCurrentThreadAllocatedBytes() - before;
            }
            device.synchronize(stream.handle());
        }
        Arrays.sort(micros);
        if (!counts) {
            return;
        }
        System.out.printf(
                "%-22s %6.2f us of the host (median), %5d bytes of the heap%n",
                name, micros[batches / 2], bytes / BATCH / batches);
    }
}
