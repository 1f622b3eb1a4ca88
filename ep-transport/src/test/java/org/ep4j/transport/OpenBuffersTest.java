package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.EpStateException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.memory.HostDevice;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class OpenBuffersTest {
    private final List<String> closed = new ArrayList<>();
    private final OpenBuffers<Named> buffers = new OpenBuffers<>(collective(), 0);

    private static Collective collective() {
        List<RankProfile> profiles =
                List.of(RankProfile.builder(0, "h", Device.HOST).pid(1).build());
        GroupPlan plan = GroupPlan.of(
                profiles,
                List.of(EpPath.builder(0, 0, "local", EpPath.Kind.LOCAL).build()));
        OpenContext context = OpenContext.builder(plan, profiles, new OtherMembers(1), new HostDevice())
                .timeout(Duration.ofSeconds(20))
                .build();
        return new Collective("wires", context);
    }

    private final class Named implements SymmetricBuffer {
        private final String name;

        Named(String name) {
            this.name = name;
        }

        @Override
        public DeviceMemory local() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            closed.add(name);
            buffers.remove(this);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    @Test
    void closesWhatIsStillOpenOnce() {
        Named first = buffers.add(new Named("first"));
        buffers.add(new Named("second"));
        first.close();
        assertThat(buffers.close()).isTrue();
        assertThat(closed).containsExactly("first", "second");
        assertThat(buffers.close()).isFalse();
        assertThat(closed).hasSize(2);
    }

    @Test
    void refusesToBeginWhenClosedAndClosesWhatWasBegunBefore() {
        buffers.checkOpen();
        buffers.close();
        assertThatThrownBy(buffers::checkOpen)
                .isInstanceOf(EpStateException.class)
                .hasMessageContainingAll("wires is closed", "rank 0");
        Named late = new Named("late");
        assertThatThrownBy(() -> buffers.add(late))
                .isInstanceOf(EpStateException.class)
                .hasMessageContainingAll("wires", "rank 0", "while late was being created");
        assertThat(closed).containsExactly("late");
    }
}
