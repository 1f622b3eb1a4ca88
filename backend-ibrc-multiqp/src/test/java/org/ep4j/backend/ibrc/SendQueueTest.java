package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.transport.NicFlow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class SendQueueTest {
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aWriteThatIsRepeatedKeepsItsMode(boolean message) {
        NicFlow nic = new NicFlow(new FlowLimits(0, 1, 1, ""));
        Region region = new Region(0, true, new int[1], new long[1], new int[1][1]);
        SendQueue.Request request = new SendQueue.Request().write(region, 0, region, 0, 64);
        request.message = message;
        SendQueue.InFlight first = new SendQueue.InFlight(4, nic);
        first.append(request);
        assertThat(nic.writes(message)).isEqualTo(1);
        SendQueue.InFlight second = new SendQueue.InFlight(4, nic);
        second.append(first.get(0));
        assertThat(nic.writes(message)).as("both hold room").isEqualTo(2);
        assertThat(nic.writes(!message)).isZero();
        first.retire(1);
        second.retire(1);
        assertThat(nic.writes(message)).isZero();
    }
}
