package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** Requests refuse options that contradict each other, and keep what they were given. */
class RequestsTest {
    private static final Tensor X = Tensor.of(new DeviceMemory(4096, 64, Device.HOST), DataType.BF16, 2, 16);
    private static final Tensor IDS = Tensor.of(new DeviceMemory(8192, 64, Device.HOST), DataType.INT32, 2, 2);
    private static final DispatchOutputs OUTPUTS =
            DispatchOutputs.builder().scales(X).sourceRanks(IDS).build();
    private static final OpOptions ASYNC = OpOptions.DEFAULT.asynchronous();

    private record Handle(int tokens, long rows, RowLayout layout) implements DispatchHandle {}

    private static final DispatchHandle HANDLE = new Handle(2, 2, RowLayout.BY_EXPERT);

    @Test
    void aDispatchStartsWithTheUsualOptions() {
        DispatchRequest request = DispatchRequest.of(X, IDS).build();
        assertThat(request.x()).isSameAs(X);
        assertThat(request.topkIds()).containsSame(IDS);
        assertThat(request.cached()).isEmpty();
        assertThat(request.layout()).isEqualTo(RowLayout.BY_RANK);
        assertThat(request.expertAlignment()).isEqualTo(1);
        assertThat(request.exactCounts()).isTrue();
        assertThat(request.zeroPadding()).isFalse();
        assertThat(request.options()).isEqualTo(OpOptions.DEFAULT);
    }

    @Test
    void aDispatchKeepsEveryOption() {
        DispatchRequest request = DispatchRequest.of(X, IDS)
                .scales(X)
                .topkWeights(IDS)
                .layout(RowLayout.BY_EXPERT)
                .expertAlignment(128)
                .zeroPadding()
                .worstCase()
                .out(X)
                .outputs(OUTPUTS)
                .overflow(OverflowPolicy.DROP)
                .waitStats(IDS)
                .scaleLayout(ScaleLayout.COLUMNS)
                .options(ASYNC)
                .build();
        assertThat(request)
                .isEqualTo(new DispatchRequest(
                        X,
                        Optional.of(X),
                        Optional.of(IDS),
                        Optional.of(IDS),
                        Optional.empty(),
                        RowLayout.BY_EXPERT,
                        128,
                        true,
                        false,
                        Optional.of(X),
                        OUTPUTS,
                        OverflowPolicy.DROP,
                        Optional.of(IDS),
                        ScaleLayout.COLUMNS,
                        ASYNC));
    }

    @Test
    void scalesThatAreNotThereHaveNoLayout() {
        assertThatThrownBy(() -> DispatchRequest.of(X, IDS)
                        .scaleLayout(ScaleLayout.COLUMNS)
                        .build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("scaleLayout is COLUMNS");
        assertThatThrownBy(() -> LowLatencyDispatchRequest.of(X, IDS)
                        .scaleLayout(ScaleLayout.COLUMNS)
                        .build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("scaleLayout is COLUMNS");
    }

    @Test
    void aDispatchWithNoRoutingOrTwoIsRefused() {
        assertThatThrownBy(() -> dispatch(Optional.empty(), Optional.empty(), RowLayout.BY_RANK))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("routing is nothing");
        assertThatThrownBy(() -> dispatch(Optional.of(IDS), Optional.of(HANDLE), RowLayout.BY_EXPERT))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("top-k ids and a cached handle");
    }

    private static DispatchRequest dispatch(Optional<Tensor> ids, Optional<DispatchHandle> cached, RowLayout layout) {
        return new DispatchRequest(
                X,
                Optional.empty(),
                ids,
                Optional.empty(),
                cached,
                layout,
                1,
                false,
                true,
                Optional.empty(),
                DispatchOutputs.IN_BUFFER,
                OverflowPolicy.FAIL,
                Optional.empty(),
                ScaleLayout.ROWS,
                OpOptions.DEFAULT);
    }

    @Test
    void aCachedDispatchTakesTheLayoutOfItsHandleAndNoOther() {
        assertThat(DispatchRequest.cached(X, HANDLE).build().layout()).isEqualTo(RowLayout.BY_EXPERT);
        assertThatThrownBy(() -> DispatchRequest.cached(X, HANDLE)
                        .layout(RowLayout.BY_RANK)
                        .build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("layout is BY_RANK, must be BY_EXPERT of the cached handle");
    }

    @Test
    void anAlignmentOutOfRangeIsRefused() {
        for (int alignment : new int[] {0, -1, (1 << 20) + 1}) {
            assertThatThrownBy(() -> DispatchRequest.of(X, IDS)
                            .expertAlignment(alignment)
                            .build())
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("expertAlignment is " + alignment);
        }
    }

    @Test
    void aCombineTakesTwoBiasesAtMost() {
        CombineRequest.Builder builder = CombineRequest.of(X, HANDLE).bias(X).bias(IDS);
        assertThat(builder.build().bias()).containsExactly(X, IDS);
        assertThatThrownBy(() -> builder.bias(X).build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("bias is 3 tensors, must be at most 2");
    }

    @Test
    void aCombineKeepsEveryOptionAndItsOwnListOfBiases() {
        List<Tensor> bias = new ArrayList<>(List.of(X));
        CombineRequest request = new CombineRequest(
                X,
                HANDLE,
                Optional.of(IDS),
                bias,
                CombinePrecision.RANK_PARTIAL,
                Optional.of(X),
                Optional.of(IDS),
                Optional.of(X),
                ASYNC);
        bias.clear();
        assertThat(request.bias()).containsExactly(X);
        assertThat(CombineRequest.of(X, HANDLE)
                        .weights(IDS)
                        .bias(X)
                        .precision(CombinePrecision.RANK_PARTIAL)
                        .out(X)
                        .outWeights(IDS)
                        .waitStats(X)
                        .options(ASYNC)
                        .build())
                .isEqualTo(request);
        assertThat(CombineRequest.of(X, HANDLE).build().precision()).isEqualTo(CombinePrecision.EXACT);
    }

    @Test
    void lowLatencyRequestsKeepEveryOption() {
        LowLatencyHandle handle = () -> 2;
        assertThat(LowLatencyDispatchRequest.of(X, IDS)
                        .topkWeights(X)
                        .format(LowLatencyDispatchRequest.WireFormat.FP8_UE8M0)
                        .out(X)
                        .outScales(IDS)
                        .outCounts(X)
                        .outSourceTokens(IDS)
                        .outLayoutRanges(X)
                        .countsOnHost()
                        .cumulativeStats(IDS)
                        .waitStats(X)
                        .hook()
                        .scaleLayout(ScaleLayout.COLUMNS)
                        .options(ASYNC)
                        .build())
                .isEqualTo(new LowLatencyDispatchRequest(
                        X,
                        IDS,
                        Optional.of(X),
                        LowLatencyDispatchRequest.WireFormat.FP8_UE8M0,
                        Optional.of(X),
                        Optional.of(IDS),
                        Optional.of(X),
                        Optional.of(IDS),
                        Optional.of(X),
                        true,
                        Optional.of(IDS),
                        Optional.of(X),
                        true,
                        ScaleLayout.COLUMNS,
                        ASYNC));
        assertThat(LowLatencyCombineRequest.of(X, handle)
                        .topkWeights(IDS)
                        .precision(CombinePrecision.RANK_PARTIAL)
                        .logFmt()
                        .out(X)
                        .waitStats(IDS)
                        .hook()
                        .build())
                .isEqualTo(new LowLatencyCombineRequest(
                        X,
                        handle,
                        Optional.of(IDS),
                        CombinePrecision.RANK_PARTIAL,
                        true,
                        Optional.of(X),
                        Optional.of(IDS),
                        true,
                        OpOptions.DEFAULT));
    }

    @Test
    void optionsAreChangedByCopies() {
        EpEvent first = EpEvent.completed();
        EpEvent second = EpEvent.completed();
        OpOptions options = OpOptions.DEFAULT
                .after(first)
                .after(second)
                .asynchronous()
                .onStream(2)
                .timeout(Duration.ofSeconds(3))
                .multiprocessors(4);
        assertThat(options)
                .isEqualTo(new OpOptions(
                        List.of(first, second), true, 2, Optional.of(Duration.ofSeconds(3)), OptionalInt.of(4)));
        assertThat(OpOptions.DEFAULT)
                .isEqualTo(new OpOptions(List.of(), false, 0, Optional.empty(), OptionalInt.empty()));
    }

    @Test
    void aTimeoutMustBeAboveZero() {
        for (Duration timeout : new Duration[] {Duration.ZERO, Duration.ofMillis(-1)}) {
            assertThatThrownBy(() -> OpOptions.DEFAULT.timeout(timeout))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("timeout is " + timeout);
        }
    }

    @Test
    void anArgumentErrorKeepsItsPartsForPrograms() {
        EpArgumentException error = new EpArgumentException("topkIds[3][1]", 256, "in [-1, 256)", "check the router");
        assertThat(error).hasMessage("topkIds[3][1] is 256, must be in [-1, 256); check the router");
        assertThat(List.of(error.name(), error.value(), error.limit(), error.fix()))
                .containsExactly("topkIds[3][1]", "256", "in [-1, 256)", "check the router");
    }
}
