package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.ep4j.EpMismatchException;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What ranks send each other before they are connected, and the 32 bits of an immediate. */
@Tag("verify")
final class RecordsTest {
    @Property
    void recordsComeBackAsTheyWere(
            @ForAll String name,
            @ForAll int lid,
            @ForAll long subnet,
            @ForAll long guid,
            @ForAll boolean flag,
            @ForAll @Size(max = 70) List<Integer> keys,
            @ForAll long address) {
        PortExchange.Port port = new PortExchange.Port(name, 2, 5, lid, flag, 16, new PortExchange.Gid(subnet, guid));
        PortExchange ports = new PortExchange(flag, 12, List.of(port, port));
        // A name that is no valid Unicode does not come back; devices have none.
        if (name.chars().allMatch(c -> c < 0xd800)) {
            assertThat(PortExchange.CODEC.decode(PortExchange.CODEC.encode(ports)))
                    .isEqualTo(ports);
        }
        Region.Remote memory = new Region.Remote(address, keys);
        List<PortExchange.QueuePair> ends =
                keys.stream().map(key -> new PortExchange.QueuePair(key, ~key)).toList();
        PortExchange.QueuePairs pairs = new PortExchange.QueuePairs(memory, Map.of(3, ends, 700, List.of()));
        byte[] sent = PortExchange.QueuePairs.CODEC.encode(pairs);
        assertThat(PortExchange.QueuePairs.CODEC.decode(sent)).isEqualTo(pairs);
        IbrcMemory.Key buffer = new IbrcMemory.Key(63, memory, memory);
        assertThat(IbrcMemory.Key.CODEC.decode(IbrcMemory.Key.CODEC.encode(buffer)))
                .isEqualTo(buffer);
    }

    @Property
    void whatIsNotARecordIsRefused(@ForAll byte[] bytes, @ForAll @IntRange(min = 1, max = 40) int cut) {
        byte[] whole = IbrcMemory.Key.CODEC.encode(
                new IbrcMemory.Key(1, new Region.Remote(1, List.of(7)), new Region.Remote(2, List.of(8))));
        byte[] part = Arrays.copyOf(whole, Math.max(0, whole.length - cut));
        assertThatThrownBy(() -> IbrcMemory.Key.CODEC.decode(part))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContaining("same ep4j version");
        if (bytes.length < 4 || bytes[3] != 2) {
            assertThatThrownBy(() -> PortExchange.CODEC.decode(bytes)).isInstanceOf(EpMismatchException.class);
        }
    }

    @Property
    void immediatesOfCountersAddUp(
            @ForAll @IntRange(max = 63) int buffer,
            @ForAll @IntRange(max = 63) int counter,
            @ForAll @LongRange(min = 0) long delta) {
        long sum = 0;
        for (int place = 0; place < 4; place++) {
            int code = Immediate.counter(buffer, counter, place, (int) (delta >>> (16 * place)) & 0xffff);
            assertThat(Immediate.isCounter(code)).isTrue();
            assertThat(Immediate.buffer(code)).isEqualTo(buffer);
            assertThat(Immediate.counterIndex(code)).isEqualTo(counter);
            sum += Immediate.delta(code);
        }
        assertThat(sum).isEqualTo(delta);
    }

    @Property
    void immediatesOfLanesAreToldFromOthers(@ForAll @IntRange(max = 0xffff) int lane, @ForAll boolean close) {
        int code = Immediate.lane(lane, close);
        assertThat(Immediate.isCounter(code)).isFalse();
        assertThat(Immediate.isFence(code)).isFalse();
        assertThat(Immediate.laneIndex(code)).isEqualTo(lane);
        assertThat(Immediate.closes(code)).isEqualTo(close);
    }

    @Test
    void theFenceIsNoLane() {
        assertThat(Immediate.isFence(Immediate.fence())).isTrue();
        assertThat(Immediate.isCounter(Immediate.fence())).isFalse();
    }

    @Property
    void idsOfRequestsSayLaneAndNumberAlsoAfterWrapping(
            @ForAll @IntRange(max = 0x3fff) int lane,
            @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long number,
            @ForAll @IntRange(max = 16384) int behind) {
        long id = Completions.sendId(lane, number);
        assertThat(Completions.isReceive(id)).isFalse();
        assertThat(Completions.lane(id)).isEqualTo(lane);
        assertThat(Completions.number(id, Math.max(0, number - behind))).isEqualTo(number);
        long receive = Completions.receiveId(lane);
        assertThat(Completions.isReceive(receive)).isTrue();
        assertThat(Completions.lane(receive)).isEqualTo(lane);
    }

    @Test
    void wordsOfAConnectionDoNotOverlap() {
        Words words = new Words(5, 2);
        assertThat(words.lane(0)).isEqualTo(8);
        assertThat(words.stopped(0)).isEqualTo(words.lane(4) + 8);
        assertThat(words.bytes())
                .isGreaterThanOrEqualTo((int) words.stopped(1) + 8)
                .isEqualTo(64);
    }
}
