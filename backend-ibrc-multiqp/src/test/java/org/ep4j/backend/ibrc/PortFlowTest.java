package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.ep4j.plan.offer.FlowLimits;
import org.junit.jupiter.api.Test;

/** What a rank may have under way on a port, to all peers. */
final class PortFlowTest {
    private static PortFlow.Write begun(PortFlow flow, long length) {
        return Optional.ofNullable(flow.begin(length)).orElseThrow();
    }

    @Test
    void aWriteIsUnderWayUntilItsLastRequestIsDone() {
        PortFlow flow = new PortFlow(new FlowLimits("", 0, 1, 2));
        PortFlow.Write large = begun(flow, FlowLimits.LARGE);
        assertThat(large.take(40_000)).isTrue();
        assertThat(large.take(40_000)).isTrue();
        large.end();
        large.give(40_000);
        assertThat(flow.begin(FlowLimits.LARGE)).isNull();
        large.give(40_000);
        assertThat(flow.begin(FlowLimits.LARGE)).isNotNull();
        assertThat(flow.writes()).isEqualTo(1);
    }

    @Test
    void smallWritesHaveALimitOfTheirOwn() {
        PortFlow flow = new PortFlow(new FlowLimits("", 0, 1, 2));
        begun(flow, FlowLimits.LARGE);
        begun(flow, 8);
        PortFlow.Write second = begun(flow, FlowLimits.LARGE - 1);
        assertThat(flow.begin(8)).isNull();
        // One for which nothing was posted.
        second.end();
        assertThat(flow.begin(8)).isNotNull();
    }

    @Test
    void bytesAreThoseOfAllWritesAndALargerRequestGoesAlone() {
        PortFlow flow = new PortFlow(new FlowLimits("", 1000, 0, 0));
        PortFlow.Write first = begun(flow, 600);
        PortFlow.Write second = begun(flow, 600);
        assertThat(first.take(600)).isTrue();
        assertThat(second.take(600)).isFalse();
        assertThat(second.take(400)).isTrue();
        first.give(600);
        second.give(400);
        assertThat(second.take(5000)).isTrue();
        assertThat(first.take(1)).isFalse();
        assertThat(flow.bytes()).isEqualTo(5000);
    }
}
