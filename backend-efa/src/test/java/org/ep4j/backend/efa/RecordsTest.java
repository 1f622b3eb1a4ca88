package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpMismatchException;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.ep4j.transport.memory.WordMemory;
import org.ep4j.transport.posted.PostedMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RecordsTest {
    @Property
    void immediatesCarryTheirKindAndNumber(
            @ForAll @IntRange(max = 3) int kind, @ForAll @IntRange(max = (1 << 30) - 1) int number) {
        int immediate = Immediate.of(kind, number);
        assertThat(Immediate.kind(immediate)).isEqualTo(kind);
        assertThat(Immediate.number(immediate)).isEqualTo(number);
    }

    @Property
    void progressIsToldInOneImmediate(
            @ForAll @IntRange(max = Records.COUNT) int batches, @ForAll @IntRange(max = 2 * Link.CREDIT) int taken) {
        int immediate = Immediate.done(batches, taken);
        assertThat(Immediate.kind(immediate)).isEqualTo(Immediate.DONE);
        assertThat(Immediate.batches(Immediate.number(immediate))).isEqualTo(batches);
        assertThat(Immediate.taken(Immediate.number(immediate))).isEqualTo(taken);
    }

    @Property
    void keysAreThoseOfTheChunkAndOffsetsOrAddresses(
            @ForAll @LongRange(min = 0, max = 99_999) long offset,
            @ForAll @LongRange(min = 1, max = 100_000) long chunk,
            @ForAll boolean virtual) {
        int count = (int) ((100_000 + chunk - 1) / chunk);
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = 7L * i;
        }
        Region region = new Region(0, List.of(new Keys(virtual, chunk, values)));
        byte[] sent = EfaMemory.Key.CODEC.encode(new EfaMemory.Key(0, region));
        Keys keys = EfaMemory.Key.CODEC.decode(sent).data().keys().get(0);
        assertThat(keys.at(offset)).isEqualTo(7 * (offset / chunk));
        assertThat(keys.left(offset)).isPositive().isLessThanOrEqualTo(chunk);
        assertThat(keys.left(offset) + offset).isEqualTo((offset / chunk + 1) * chunk);
        assertThat(keys.target(1 << 20, offset)).isEqualTo(virtual ? (1 << 20) + offset : offset % chunk);
    }

    @Test
    void aWholeRegionHasOneKey() {
        Keys keys = new Keys(false, Keys.WHOLE, new long[] {5});
        assertThat(keys.at(1L << 40)).isEqualTo(5);
        assertThat(keys.target(9, 1L << 40)).isEqualTo(1L << 40);
        assertThat(keys.left(1L << 40)).isGreaterThan(1L << 60);
    }

    @Test
    void aRecordIsReadAsItWasWritten() {
        WordMemory memory = WordMemory.allocate(Records.BYTES);
        Records records = new Records(memory.words(), Region.ABSENT, Region.ABSENT);
        long batch = (1L << 40) + 3;
        records.put(batch, 11, Records.CLOSE, 12, 63, Long.MAX_VALUE);
        memory.words().copy(Records.in(3), memory.words(), Records.out(3), Records.SIZE);
        assertThat(records.batch(3)).isEqualTo(batch);
        assertThat(records.writes(3)).isEqualTo(11);
        assertThat(records.kind(3)).isEqualTo(Records.CLOSE);
        assertThat(records.buffer(3)).isEqualTo(12);
        assertThat(records.counter(3)).isEqualTo(63);
        assertThat(records.value(3)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void whatRanksTellSurvivesTheWay() {
        Region region = new Region(77, List.of(new Keys(true, 1024, new long[] {1, 2, 3, -4})));
        PeerEndpoints peer = new PeerEndpoints(
                "tcp;ofi_rxm", List.of(new PeerEndpoints.End("eth0", 2, new byte[] {1, 2, 3})), region);
        byte[] sent = PeerEndpoints.ByPeer.CODEC.encode(new PeerEndpoints.ByPeer(Map.of(5, peer)));
        PeerEndpoints read = PeerEndpoints.ByPeer.CODEC.decode(sent).endpoints().get(5);
        assertThat(read).isNotNull();
        assertThat(read.provider()).isEqualTo("tcp;ofi_rxm");
        assertThat(read.ends()).singleElement().satisfies(end -> {
            assertThat(end.nic()).isEqualTo("eth0");
            assertThat(end.place()).isEqualTo(2);
            assertThat(end.name()).containsExactly(1, 2, 3);
        });
        assertThat(read.records().keys().get(0).at(3072)).isEqualTo(-4);
        EfaMemory.Key buffer = EfaMemory.Key.CODEC.decode(EfaMemory.Key.CODEC.encode(new EfaMemory.Key(9, region)));
        assertThat(buffer.number()).isEqualTo(9);
        assertThat(buffer.data().address()).isEqualTo(77);
        assertThatThrownBy(() -> PeerEndpoints.ByPeer.CODEC.decode(new byte[] {0, 0, 0, 3, 0, 0, 0, 1}))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("its endpoints")
                .hasMessageContaining("same ep4j version");
    }

    private static EfaMemory memory(int number) {
        return new EfaMemory(
                DeviceMemory.of(4096, 4096, Device.HOST),
                2,
                new PostedMemory.Registrations(),
                Region.ABSENT,
                new EfaMemory.Key(number, Region.ABSENT));
    }

    @Test
    void numbersOfBuffersAreNotGivenTwice() {
        Buffers buffers = new Buffers();
        EfaMemory first = buffers.add(RecordsTest::memory);
        int number = first.number();
        buffers.remove(number);
        EfaMemory second = buffers.add(RecordsTest::memory);
        assertThat(second.number()).isNotEqualTo(number);
        buffers.from(1).advance(number, 0, 5);
        buffers.from(1).advance(number + 1, 0, 6);
        buffers.from(1).advance(99, 0, 7);
        assertThat(first.arrived(1, 0)).isZero();
        assertThat(second.arrived(1, 0)).isEqualTo(6);
    }
}
