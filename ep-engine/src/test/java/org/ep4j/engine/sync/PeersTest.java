package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.HostPosted;
import org.junit.jupiter.api.Test;

class PeersTest {
    /** Gives a value once; then its source is lost. */
    private static final class LostAfterOne implements HostPosted {
        private final long value;
        private boolean given;

        LostAfterOne(long value) {
            this.value = value;
        }

        @Override
        public void write(int peer, long target, long source, long bytes) {}

        @Override
        public void advance(int peer, int counter, long next) {}

        @Override
        public long seen(int counter, int source) {
            if (given) {
                throw new EpPeerLostException("rank " + source + " cannot be reached", source, "test");
            }
            given = true;
            return value;
        }

        @Override
        public void drain(int peer, Duration deadline) {}
    }

    @Test
    void whatARankHasToldStaysToldWhenItIsLost() {
        BufferLayout layout =
                new BufferLayout(EpShape.builder(64, 4, 2).maxTokens(4).build(), 2, true, 0);
        HostPosted posted = new LostAfterOne(5);
        try (DeviceAllocation memory = new HostDevice().allocate(layout.bytes())) {
            SymmetricMemory symmetric =
                    new SymmetricMemory(0, memory.memory(), Map.of(), Map.of(1, posted), Map.of(1, posted));
            Peers<HostMemory> peers = new Peers<>(
                    RailsTest.plan(List.of(0, 1)),
                    layout,
                    symmetric,
                    HostMemory::of,
                    Deadline.in(Duration.ofSeconds(10)));
            assertThat(peers.reached(Counter.HT_DATA, 1, 4)).isTrue();
            assertThat(peers.reached(Counter.HT_DATA, 1, 5)).isTrue();
            assertThatThrownBy(() -> peers.reached(Counter.HT_DATA, 1, 6)).isInstanceOf(EpPeerLostException.class);
            assertThatThrownBy(() -> peers.reached(Counter.RECOVER, 1, 1)).isInstanceOf(EpPeerLostException.class);
        }
    }
}
