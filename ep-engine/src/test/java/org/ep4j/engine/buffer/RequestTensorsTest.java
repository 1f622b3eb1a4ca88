package org.ep4j.engine.buffer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which tensors of a request may lie where. Nothing is read or written, so addresses are made up. */
@Tag("verify")
final class RequestTensorsTest {
    private static final int PLACES = 64;
    private static final int WORD = 16;
    private static final long BASE = 1 << 20;

    /** A placeholder: the checks do not use the handle. */
    private static final DispatchHandle HANDLE = (DispatchHandle) Proxy.newProxyInstance(
            RequestTensorsTest.class.getClassLoader(), new Class<?>[] {DispatchHandle.class}, (proxy, method, args) -> {
                throw new UnsupportedOperationException(method.getName());
            });

    private static DeviceMemory memory(long place, long places) {
        return DeviceMemory.of(BASE + place * WORD, places * WORD, Device.HOST);
    }

    /** A tensor of {@code words} words in memory that has {@code spare} more behind it. */
    private static Tensor tensor(int place, int words, int spare) {
        return Tensor.of(memory(place, words + (long) spare), DataType.INT32, words, 4);
    }

    private static BitSet places(int place, int words) {
        BitSet set = new BitSet();
        set.set(place, place + words);
        return set;
    }

    /** Against the sets of the words that each one takes. */
    @Property(tries = 2000)
    void refusesExactlyWhatOverlaps(@ForAll long seed) {
        Random random = new Random(seed);
        int[] place = new int[5];
        int[] words = new int[5];
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            words[i] = random.nextInt(6);
            place[i] = random.nextInt(PLACES);
            tensors.add(tensor(place[i], words[i], random.nextInt(8)));
        }
        int symmetricAt = random.nextInt(PLACES);
        int symmetricWords = random.nextInt(6);
        // The first two are written.
        LowLatencyDispatchRequest request = LowLatencyDispatchRequest.builder(tensors.get(2), tensors.get(3))
                .out(tensors.get(0))
                .waitStats(tensors.get(1))
                .topkWeights(tensors.get(4))
                .build();
        boolean bad = false;
        for (int i = 0; i < 5; i++) {
            bad |= places(place[i], words[i]).intersects(places(symmetricAt, symmetricWords));
            for (int j = i + 1; i < 2 && j < 5; j++) {
                bad |= places(place[i], words[i]).intersects(places(place[j], words[j]));
            }
        }
        RequestTensors all = RequestTensors.of(request);
        DeviceMemory symmetric = memory(symmetricAt, symmetricWords);
        if (bad) {
            assertThatThrownBy(() -> all.check(symmetric)).isInstanceOf(EpArgumentException.class);
        } else {
            assertThatCode(() -> all.check(symmetric)).doesNotThrowAnyException();
        }
    }

    @Test
    void keepsMemoryThatIsClosedMeanwhileAndRefusesItLater() {
        AtomicInteger freed = new AtomicInteger();
        DeviceAllocation x = new DeviceAllocation(memory(0, 4), "an allocation", freed::incrementAndGet);
        DeviceAllocation ids = new DeviceAllocation(memory(8, 4), "an allocation", freed::incrementAndGet);
        RequestTensors all = RequestTensors.of(DispatchRequest.builder(
                        Tensor.of(x.memory(), DataType.INT32, 4, 4), Tensor.of(ids.memory(), DataType.INT32, 4, 4))
                .build());
        all.retain();
        x.close();
        assertThat(freed).hasValue(0);
        assertThatThrownBy(all::retain)
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("x is in memory that is closed (an allocation, 64 bytes on host:0 at 0x100000)");
        all.release();
        assertThat(freed).hasValue(1);
        x.close();
        ids.close();
        assertThat(freed)
                .as("the refused call keeps none of the others, and none is freed twice")
                .hasValue(2);
        assertThatThrownBy(() -> all.check(memory(32, 1))).isInstanceOf(EpStateException.class);
    }

    private static CombineRequest.Builder combine(DeviceMemory symmetric, BufferLayout layout, long offset) {
        return CombineRequest.builder(
                Tensor.of(symmetric.slice(offset, layout.rowBytes()), DataType.BF16, 1, layout.rowBytes() / 2), HANDLE);
    }

    @Test
    void aCombineMayReadTheRowsOfADispatchAndItsInputInPlaceAndNothingElseThere() {
        BufferLayout layout =
                new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(8).build(), 2);
        DeviceMemory symmetric = DeviceMemory.of(BASE, layout.bytes(), Device.HOST);
        long row = layout.rowBytes();
        long rowsEnd = layout.rows() + layout.rowsBytes();
        long inputEnd = layout.combineArea() + layout.combineInputBytes();
        for (long good : new long[] {layout.rows(), rowsEnd - row, layout.combineArea(), inputEnd - row}) {
            RequestTensors all =
                    RequestTensors.of(combine(symmetric, layout, good).build());
            assertThatCode(() -> all.checkCombine(symmetric, layout)).doesNotThrowAnyException();
        }
        for (long bad : new long[] {layout.rows() - 16, rowsEnd - row + 16, 0}) {
            RequestTensors all =
                    RequestTensors.of(combine(symmetric, layout, bad).build());
            assertThatThrownBy(() -> all.checkCombine(symmetric, layout))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("x is in the buffer's symmetric memory");
        }
    }

    @Test
    void aSumMayReplaceItsBiasAndOverlapNothingElse() {
        BufferLayout layout =
                new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(8).build(), 2);
        DeviceMemory symmetric = DeviceMemory.of(BASE, layout.bytes(), Device.HOST);
        DeviceMemory own = DeviceMemory.of(BASE + (1 << 30), 1 << 20, Device.HOST);
        Tensor x = Tensor.of(own, DataType.BF16, 8, 64);
        Tensor bias = Tensor.of(own.slice(1 << 16, 1 << 16), DataType.BF16, 8, 64);
        Tensor shifted = Tensor.of(own.slice((1 << 16) + 128, 1 << 15), DataType.BF16, 8, 64);
        RequestTensors.of(CombineRequest.builder(x, HANDLE).bias(bias).out(bias).build())
                .checkCombine(symmetric, layout);
        for (CombineRequest.Builder bad : List.of(
                CombineRequest.builder(x, HANDLE).bias(bias).out(shifted),
                CombineRequest.builder(x, HANDLE).out(x),
                CombineRequest.builder(bias, HANDLE).bias(bias).out(bias))) {
            assertThatThrownBy(() -> RequestTensors.of(bad.build()).checkCombine(symmetric, layout))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("out is overlapping");
        }
    }
}
