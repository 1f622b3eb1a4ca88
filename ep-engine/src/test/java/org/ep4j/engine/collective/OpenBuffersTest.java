package org.ep4j.engine.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.spi.SymmetricBuffer;
import org.junit.jupiter.api.Test;

final class OpenBuffersTest {
    private final List<String> closed = new ArrayList<>();
    private final OpenBuffers<Named> buffers = new OpenBuffers<>(collective(), 0);

    private static Collective collective() {
        return new Collective(
                "wires", TestContexts.context(Bootstraps.inProcess(1).get(0)));
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
                .hasMessageContainingAll("wires", "rank 0", "while late was made");
        assertThat(closed).containsExactly("late");
    }
}
