package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests refuse options that contradict each other, and keep what they were given. */
@Tag("verify")
class RequestsTest {
    private static final Tensor X = Tensor.of(DeviceMemory.of(4096, 64, Device.HOST), DataType.BF16, 2, 16);
    private static final Tensor IDS = Tensor.of(DeviceMemory.of(8192, 64, Device.HOST), DataType.INT32, 2, 2);

    private record Handle(int tokens, long rows, RowLayout layout) implements DispatchHandle {}

    private static final DispatchHandle HANDLE = new Handle(2, 2, RowLayout.BY_EXPERT);

    private static final LowLatencyHandle LOW_HANDLE = () -> 2;

    @Test
    void aDispatchStartsWithTheUsualOptions() {
        DispatchRequest request = DispatchRequest.builder(X, IDS).build();
        assertThat(request.x()).isSameAs(X);
        assertThat(request.topkIds()).containsSame(IDS);
        assertThat(request.routing()).isEmpty();
        assertThat(request.scales()).isEmpty();
        assertThat(request.topkWeights()).isEmpty();
        assertThat(request.out()).isEmpty();
        assertThat(outputs(request)).hasSize(8).allMatch(Optional::isEmpty);
        assertThat(request.expertStats()).isEmpty();
        assertThat(request.waitStats()).isEmpty();
        assertThat(request.layout()).isEqualTo(RowLayout.BY_RANK);
        assertThat(request.expertAlignment()).isEqualTo(1);
        assertThat(request.worstCase()).isFalse();
        assertThat(request.zeroPadding()).isFalse();
    }

    @Test
    void aDispatchKeepsEveryOption() {
        DispatchRequest request = fullDispatch().build();
        assertThat(request.scales()).containsSame(X);
        assertThat(request.topkWeights()).containsSame(IDS);
        assertThat(request.layout()).isEqualTo(RowLayout.BY_EXPERT);
        assertThat(request.expertAlignment()).isEqualTo(128);
        assertThat(request.zeroPadding()).isTrue();
        assertThat(request.worstCase()).isTrue();
        assertThat(request.out()).containsSame(X);
        assertThat(request.expertStats()).containsSame(IDS);
        assertThat(request.waitStats()).containsSame(X);
        assertValue(request, fullDispatch().build(), fullDispatch().out(IDS).build());
        assertThat(fullDispatch().expertStats(X).build()).isNotEqualTo(request);
        assertThat(fullDispatch().waitStats(IDS).build()).isNotEqualTo(request);
    }

    private static List<Optional<Tensor>> outputs(DispatchRequest request) {
        return List.of(
                request.outScales(),
                request.outTopkIds(),
                request.outTopkWeights(),
                request.outSourceRanks(),
                request.outSourceTokens(),
                request.outRowsPerSource(),
                request.outRowsPerExpert(),
                request.outExpertOffsets());
    }

    @Test
    void aDispatchKeepsEveryTensorForItsResult() {
        List<UnaryOperator<DispatchRequest.Builder>> setters = List.of(
                builder -> builder.outScales(X),
                builder -> builder.outTopkIds(X),
                builder -> builder.outTopkWeights(X),
                builder -> builder.outSourceRanks(X),
                builder -> builder.outSourceTokens(X),
                builder -> builder.outRowsPerSource(X),
                builder -> builder.outRowsPerExpert(X),
                builder -> builder.outExpertOffsets(X));
        for (int i = 0; i < setters.size(); i++) {
            DispatchRequest request = setters.get(i).apply(fullDispatch()).build();
            List<Optional<Tensor>> outputs = outputs(request);
            for (int j = 0; j < outputs.size(); j++) {
                assertThat(outputs.get(j)).isEqualTo(i == j ? Optional.of(X) : Optional.empty());
            }
            assertValue(
                    request,
                    setters.get(i).apply(fullDispatch()).build(),
                    fullDispatch().build());
        }
    }

    private static DispatchRequest.Builder fullDispatch() {
        return DispatchRequest.builder(X, IDS)
                .scales(X)
                .topkWeights(IDS)
                .layout(RowLayout.BY_EXPERT)
                .expertAlignment(128)
                .zeroPadding()
                .worstCase()
                .out(X)
                .expertStats(IDS)
                .waitStats(X);
    }

    private static void assertValue(Object value, Object same, Object other) {
        assertThat(value).isEqualTo(same).hasSameHashCodeAs(same).isNotEqualTo(other);
        assertThat(value).hasToString(same.toString());
        assertThat(value.toString()).isNotEqualTo(other.toString());
    }

    @Test
    void aBuilderThatGoesOnChangesNoRequest() {
        DispatchRequest.Builder builder = DispatchRequest.builder(X, IDS);
        DispatchRequest request = builder.build();
        builder.out(X).worstCase();
        assertThat(request.out()).isEmpty();
        assertThat(request.worstCase()).isFalse();
    }

    @Test
    void aDispatchWithAHandleTakesItsLayoutAndNoOther() {
        DispatchRequest request = DispatchRequest.builder(X, HANDLE).build();
        assertThat(request.layout()).isEqualTo(RowLayout.BY_EXPERT);
        assertThat(request.routing()).containsSame(HANDLE);
        assertThat(request.topkIds()).isEmpty();
        assertThatThrownBy(() -> DispatchRequest.builder(X, HANDLE)
                        .layout(RowLayout.BY_RANK)
                        .build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("layout is BY_RANK, must be BY_EXPERT of the handle");
    }

    @Test
    void anAlignmentOutOfRangeIsRefused() {
        for (int alignment : new int[] {0, -1, (1 << 20) + 1}) {
            assertThatThrownBy(() -> DispatchRequest.builder(X, IDS)
                            .expertAlignment(alignment)
                            .build())
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("expertAlignment is " + alignment);
        }
    }

    @Test
    void aCombineTakesTwoBiasesAtMost() {
        CombineRequest.Builder builder =
                CombineRequest.builder(X, HANDLE).bias(X).bias(IDS);
        CombineRequest request = builder.build();
        assertThat(request.bias()).containsExactly(X, IDS);
        assertThatThrownBy(() -> builder.bias(X).build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("bias is 3 tensors, must be at most 2");
        assertThat(request.bias()).containsExactly(X, IDS);
    }

    @Test
    void aCombineKeepsEveryOption() {
        CombineRequest request = fullCombine().build();
        assertThat(request.x()).isSameAs(X);
        assertThat(request.handle()).isSameAs(HANDLE);
        assertThat(request.weights()).containsSame(IDS);
        assertThat(request.bias()).containsExactly(X);
        assertThat(request.precision()).isEqualTo(CombinePrecision.RANK_PARTIAL);
        assertThat(request.out()).containsSame(X);
        assertThat(request.outWeights()).containsSame(IDS);
        assertThat(request.waitStats()).containsSame(IDS);
        assertValue(request, fullCombine().build(), fullCombine().bias(X).build());
        assertValue(request, fullCombine().build(), fullCombine().outWeights(X).build());
        assertThat(fullCombine().waitStats(X).build()).isNotEqualTo(request);
        assertThat(CombineRequest.builder(X, HANDLE).build().precision()).isEqualTo(CombinePrecision.EXACT);
    }

    private static CombineRequest.Builder fullCombine() {
        return CombineRequest.builder(X, HANDLE)
                .weights(IDS)
                .bias(X)
                .precision(CombinePrecision.RANK_PARTIAL)
                .out(X)
                .outWeights(IDS)
                .waitStats(IDS);
    }

    @Test
    void lowLatencyRequestsKeepEveryOption() {
        LowLatencyDispatchRequest dispatch = fullLowLatencyDispatch().build();
        assertThat(dispatch.x()).isSameAs(X);
        assertThat(dispatch.topkIds()).isSameAs(IDS);
        assertThat(dispatch.topkWeights()).containsSame(X);
        assertThat(dispatch.format()).isEqualTo(WireFormat.FP8_UE8M0);
        assertThat(dispatch.out()).containsSame(X);
        assertThat(dispatch.outScales()).containsSame(IDS);
        assertThat(dispatch.outRowsPerExpert()).containsSame(IDS);
        assertThat(dispatch.outSourceTokens()).containsSame(X);
        assertThat(dispatch.outLayoutRanges()).containsSame(IDS);
        assertThat(dispatch.expertStats()).containsSame(IDS);
        assertThat(dispatch.waitStats()).containsSame(X);
        assertThat(dispatch.receiveHook()).isTrue();
        assertValue(
                dispatch,
                fullLowLatencyDispatch().build(),
                fullLowLatencyDispatch().format(WireFormat.FP8).build());
        LowLatencyCombineRequest combine = fullLowLatencyCombine().build();
        assertThat(combine.x()).isSameAs(X);
        assertThat(combine.handle()).isSameAs(LOW_HANDLE);
        assertThat(combine.topkWeights()).containsSame(IDS);
        assertThat(combine.precision()).isEqualTo(CombinePrecision.RANK_PARTIAL);
        assertThat(combine.format()).isEqualTo(WireFormat.LOGFMT10);
        assertThat(combine.out()).containsSame(X);
        assertThat(combine.waitStats()).containsSame(IDS);
        assertThat(combine.receiveHook()).isTrue();
        assertValue(
                combine,
                fullLowLatencyCombine().build(),
                fullLowLatencyCombine().waitStats(X).build());
    }

    private static LowLatencyDispatchRequest.Builder fullLowLatencyDispatch() {
        return LowLatencyDispatchRequest.builder(X, IDS)
                .topkWeights(X)
                .format(WireFormat.FP8_UE8M0)
                .out(X)
                .outScales(IDS)
                .outRowsPerExpert(IDS)
                .outSourceTokens(X)
                .outLayoutRanges(IDS)
                .expertStats(IDS)
                .waitStats(X)
                .receiveHook();
    }

    private static LowLatencyCombineRequest.Builder fullLowLatencyCombine() {
        return LowLatencyCombineRequest.builder(X, LOW_HANDLE)
                .topkWeights(IDS)
                .precision(CombinePrecision.RANK_PARTIAL)
                .format(WireFormat.LOGFMT10)
                .out(X)
                .waitStats(IDS)
                .receiveHook();
    }

    @Test
    void lowLatencyRequestsStartWithBf16AndWithoutTheHook() {
        LowLatencyDispatchRequest dispatch =
                LowLatencyDispatchRequest.builder(X, IDS).build();
        assertThat(dispatch.format()).isEqualTo(WireFormat.BF16);
        assertThat(dispatch.receiveHook()).isFalse();
        LowLatencyCombineRequest combine =
                LowLatencyCombineRequest.builder(X, LOW_HANDLE).build();
        assertThat(combine.format()).isEqualTo(WireFormat.BF16);
        assertThat(combine.precision()).isEqualTo(CombinePrecision.EXACT);
        assertThat(combine.receiveHook()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(WireFormat.class)
    void aFormatIsRefusedWhereItDoesNotTravel(WireFormat format) {
        var dispatch = LowLatencyDispatchRequest.builder(X, IDS).format(format);
        var combine = LowLatencyCombineRequest.builder(X, LOW_HANDLE).format(format);
        if (format == WireFormat.LOGFMT10) {
            assertThatThrownBy(dispatch::build)
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("format is LOGFMT10, must be BF16, FP8, FP8_POW2 or FP8_UE8M0 in a dispatch");
        } else {
            assertThat(dispatch.build().format()).isEqualTo(format);
        }
        if (format.isFp8()) {
            assertThatThrownBy(combine::build)
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("format is " + format + ", must be BF16 or LOGFMT10 in a combine");
        } else {
            assertThat(combine.build().format()).isEqualTo(format);
        }
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
                .multiprocessors(12)
                .timeout(Duration.ofSeconds(3));
        assertThat(options.after()).containsExactly(first, second);
        assertThat(options.isAsynchronous()).isTrue();
        assertThat(options.stream()).isEqualTo(2);
        assertThat(options.timeout()).contains(Duration.ofSeconds(3));
        assertThat(options.multiprocessors()).hasValue(12);
        assertThat(options.synchronous().isAsynchronous()).isFalse();
        assertThat(OpOptions.DEFAULT.after()).isEmpty();
        assertThat(OpOptions.DEFAULT.isAsynchronous()).isFalse();
        assertThat(OpOptions.DEFAULT.stream()).isZero();
        assertThat(OpOptions.DEFAULT.timeout()).isEmpty();
        assertThat(OpOptions.DEFAULT.multiprocessors()).isEmpty();
        assertThat(options.onStream(3).after(first).multiprocessors()).hasValue(12);
        assertValue(options, options.multiprocessors(12), options.multiprocessors(13));
        assertValue(options, options.synchronous().asynchronous(), options.onStream(3));
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
    void atLeastOneMultiprocessorIsNeeded() {
        for (int number : new int[] {0, -1}) {
            assertThatThrownBy(() -> OpOptions.DEFAULT.multiprocessors(number))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("multiprocessors is " + number + ", must be at least 1");
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
