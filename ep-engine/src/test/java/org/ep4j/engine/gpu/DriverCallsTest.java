package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.ep4j.Bootstrap;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
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
import org.ep4j.gpu.cuda.DriverCalls;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.ep4j.gpu.driver.EngineGpu;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Which calls of the driver an asynchronous operation makes once it has been used for a while: each costs from a tenth of a
 * microsecond to three on the host, and most operations are shorter than a few dozen of those.
 */
@Tag("verify")
final class DriverCallsTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE = EpShape.builder(64, 4, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private static final String OVERLAPPING = "cuLaunchKernelEx";

    /** Enough for everything that is made once. */
    private static final int WARM_UP = 3 * EventRing.QUERY_EVERY;

    private EpGroup group;
    private EpBuffer buffer;
    private GpuStream stream;

    @BeforeEach
    void join() {
        EmulatedCuda.require();
        group = EpGroup.join(
                Bootstrap.inProcess(1).get(0),
                EpConfig.builder(Map.of(), Map.of()).set("ep.device", "cuda:0").build());
        stream = device().createStream();
        buffer = group.createBuffer(SHAPE)
                .withOptions(OpOptions.DEFAULT.asynchronous().onStream(stream.handle()));
    }

    @AfterEach
    void leave() {
        if (group != null) {
            device().synchronize(stream.handle());
            stream.close();
            buffer.close();
            group.close();
        }
    }

    private EngineGpu device() {
        return (EngineGpu) group.device();
    }

    private Tensor zeros(DataType type, long... dims) {
        return device().arena().tensor(type, dims);
    }

    /** Every token names two experts. */
    private Tensor ids() {
        ByteBuffer ids = ByteBuffer.allocate(4 * TOKENS * SHAPE.topK()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < TOKENS * SHAPE.topK(); i++) {
            ids.putInt(i % SHAPE.experts());
        }
        Tensor tensor = zeros(DataType.INT32, TOKENS, SHAPE.topK());
        device().upload(ids.flip(), tensor.memory());
        return tensor;
    }

    /** Checks the calls of an operation, and that the ring of events queries once for many. */
    private void check(Supplier<AutoCloseable> operation, String name, String... launches) throws Exception {
        for (int i = 0; i < WARM_UP; i++) {
            operation.get().close();
            device().synchronize(stream.handle());
        }
        List<String> expected = new ArrayList<>(List.of("cuCtxPushCurrent_v2", "cuStreamIsCapturing"));
        expected.addAll(List.of(launches));
        expected.addAll(List.of("cuEventRecord", "cuCtxPopCurrent_v2"));
        List<List<String>> rounds = new ArrayList<>();
        for (int i = 0; i < EventRing.QUERY_EVERY; i++) {
            List<AutoCloseable> handles = new ArrayList<>();
            rounds.add(DriverCalls.during(() -> handles.add(operation.get())));
            handles.get(0).close();
            device().synchronize(stream.handle());
        }
        System.out.println(name + ": " + rounds.get(1).size() + " calls " + rounds.get(1));
        int queries = 0;
        for (List<String> round : rounds) {
            List<String> calls = new ArrayList<>(round);
            queries += Collections.frequency(calls, "cuEventQuery");
            calls.removeAll(List.of("cuEventQuery"));
            assertThat(calls).as(name).containsExactlyElementsOf(expected);
        }
        assertThat(queries)
                .as("queries of events in %d operations", rounds.size())
                .isEqualTo(1);
    }

    @Test
    void highThroughput() throws Exception {
        DispatchRequest byToken = dispatch().build();
        DispatchRequest byExpert = dispatch().layout(RowLayout.BY_EXPERT).build();
        check(() -> buffer.dispatch(byToken).handle(), "dispatch", OVERLAPPING, OVERLAPPING);
        check(() -> buffer.dispatch(byExpert).handle(), "dispatch by expert", OVERLAPPING, OVERLAPPING, OVERLAPPING);
        DispatchResult result = buffer.dispatch(byToken);
        DispatchHandle handle = result.handle();
        CombineRequest combine = CombineRequest.builder(result.x(), handle).build();
        check(() -> keep(buffer.combine(combine)), "combine in place", OVERLAPPING);
        DispatchRequest cached =
                DispatchRequest.builder(byToken.x(), handle).worstCase().build();
        check(() -> keep(buffer.dispatch(cached)), "cached dispatch", OVERLAPPING, OVERLAPPING);
    }

    @Test
    void theEventOfAnOperationThatAStreamWaitsForIsUsedAgain() {
        DispatchRequest request = dispatch().build();
        Runnable round = () -> {
            DispatchResult result = buffer.dispatch(request);
            stream.waitFor(result.event());
            result.handle().close();
            device().synchronize(stream.handle());
        };
        for (int i = 0; i < WARM_UP; i++) {
            round.run();
        }
        for (int i = 0; i < 2 * EventRing.QUERY_EVERY; i++) {
            assertThat(DriverCalls.during(round)).doesNotContain("cuEventCreate");
        }
    }

    private DispatchRequest.Builder dispatch() {
        return DispatchRequest.builder(zeros(DataType.BF16, TOKENS, SHAPE.hidden()), ids())
                .worstCase();
    }

    private static AutoCloseable keep(Object result) {
        return () -> assertThat(result).isNotNull();
    }

    @Test
    void lowLatency() throws Exception {
        LowLatencyDispatchRequest request = LowLatencyDispatchRequest.builder(
                        zeros(DataType.BF16, TOKENS, SHAPE.hidden()), ids())
                .topkWeights(zeros(DataType.FP32, TOKENS, SHAPE.topK()))
                .build();
        check(() -> buffer.lowLatencyDispatch(request).handle(), "low-latency dispatch", OVERLAPPING, OVERLAPPING);
        LowLatencyDispatchResult result = buffer.lowLatencyDispatch(request);
        Tensor x = zeros(DataType.BF16, SHAPE.experts(), buffer.maxLowLatencyRows(), SHAPE.hidden());
        LowLatencyCombineRequest combine =
                LowLatencyCombineRequest.builder(x, result.handle()).build();
        check(() -> keep(buffer.lowLatencyCombine(combine)), "low-latency combine", OVERLAPPING, OVERLAPPING);
    }
}
