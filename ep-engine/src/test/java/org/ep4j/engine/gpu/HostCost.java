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

    private final GpuDevice device;
    private final GpuStream stream;
    private final int batches;
    private boolean counts;

    private HostCost(GpuDevice device, GpuStream stream, int batches) {
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
                EpBuffer buffer = group.createBuffer(SHAPE);
                GpuStream stream = ((GpuDevice) group.device()).createStream()) {
            HostCost cost = new HostCost((GpuDevice) group.device(), stream, batches);
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
        DispatchRequest request =
                DispatchRequest.of(x, ids()).worstCase().options(options()).build();
        DispatchRequest byExpert = DispatchRequest.of(x, ids())
                .layout(RowLayout.BY_EXPERT)
                .worstCase()
                .options(options())
                .build();
        measure("dispatch", () -> buffer.dispatch(request).handle().close());
        measure("dispatch by expert", () -> buffer.dispatch(byExpert).handle().close());
        DispatchResult result = buffer.dispatch(request);
        CombineRequest combine = CombineRequest.of(result.x(), result.handle())
                .options(options())
                .build();
        measure("combine", () -> buffer.combine(combine));
    }

    private void lowLatency(EpBuffer buffer) {
        LowLatencyDispatchRequest request = LowLatencyDispatchRequest.of(
                        tensor(DataType.BF16, TOKENS, SHAPE.hidden()), ids())
                .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                .options(options())
                .build();
        measure("low-latency dispatch", () -> buffer.dispatch(request).handle().close());
        LowLatencyDispatchResult result = buffer.dispatch(request);
        LowLatencyCombineRequest combine = LowLatencyCombineRequest.of(
                        tensor(DataType.BF16, SHAPE.experts(), SHAPE.lowLatencyRows(1), SHAPE.hidden()),
                        result.handle())
                .options(options())
                .build();
        measure("low-latency combine", () -> buffer.combine(combine));
    }

    private OpOptions options() {
        return OpOptions.DEFAULT.asynchronous().onStream(stream.handle());
    }

    private Tensor tensor(DataType type, long... dims) {
        long bytes = Arrays.stream(dims).reduce(type.bytes(), (a, b) -> a * b);
        return Tensor.of(device.allocate(bytes).memory(), type, dims);
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
            stream.synchronize();
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
