package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class EpTrafficTest {
    private static EpTraffic.Lane.Builder lane(int index) {
        return EpTraffic.Lane.builder(index, "a:1 to b:1")
                .bytes(100)
                .writes(4)
                .signals(3)
                .replays(2);
    }

    @Test
    void trafficHasWhatItWasMadeOf() {
        List<EpTraffic.Lane> lanes = new ArrayList<>(List.of(lane(7).build()));
        EpTraffic traffic = EpTraffic.of("wires", 2, 1, lanes);
        lanes.clear();
        assertThat(traffic.backend()).isEqualTo("wires");
        assertThat(traffic.peer()).isEqualTo(2);
        assertThat(traffic.failovers()).isEqualTo(1);
        assertThat(traffic.lanes()).containsExactly(lane(7).build());
        assertThatThrownBy(() -> traffic.lanes().clear()).isInstanceOf(UnsupportedOperationException.class);
        EpTraffic.Lane lane = traffic.lanes().get(0);
        assertThat(lane.index()).isEqualTo(7);
        assertThat(lane.ports()).isEqualTo("a:1 to b:1");
        assertThat(lane.alive()).isTrue();
        assertThat(lane.bytes()).isEqualTo(100);
        assertThat(lane.writes()).isEqualTo(4);
        assertThat(lane.signals()).isEqualTo(3);
        assertThat(lane.replays()).isEqualTo(2);
        assertThat(traffic)
                .hasToString(
                        "wires to rank 2, 1 failovers, [lane 7 a:1 to b:1: 100 bytes, 4 writes, 3 signals, 2 replays]");
    }

    @Test
    void everyFigureCountsForEquality() {
        EpTraffic.Lane lane = lane(0).build();
        assertThat(lane).isEqualTo(lane(0).build()).hasSameHashCodeAs(lane(0).build());
        List<UnaryOperator<EpTraffic.Lane.Builder>> changes = List.of(
                one -> one.alive(false),
                one -> one.bytes(0),
                one -> one.writes(0),
                one -> one.signals(0),
                one -> one.replays(0),
                one -> lane(1));
        assertThat(changes)
                .allSatisfy(change -> assertThat(change.apply(lane(0)).build()).isNotEqualTo(lane));
        EpTraffic traffic = EpTraffic.of("wires", 2, 1, List.of(lane));
        assertThat(traffic)
                .isEqualTo(EpTraffic.of("wires", 2, 1, List.of(lane)))
                .hasSameHashCodeAs(EpTraffic.of("wires", 2, 1, List.of(lane)));
        assertThat(traffic)
                .isNotEqualTo(EpTraffic.of("links", 2, 1, List.of(lane)))
                .isNotEqualTo(EpTraffic.of("wires", 3, 1, List.of(lane)))
                .isNotEqualTo(EpTraffic.of("wires", 2, 0, List.of(lane)))
                .isNotEqualTo(EpTraffic.of("wires", 2, 1, List.of()));
    }
}
