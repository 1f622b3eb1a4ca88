package org.ep4j.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class EpBackendTest {
    private static final class Allocating implements EpBackend, AllocatesMemory {
        @Override
        public String id() {
            return "allocating";
        }

        @Override
        public Set<Purpose> purposes() {
            return Set.of(Purpose.MAPPED);
        }

        @Override
        public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    @Test
    void aBackendHasTheCapabilitiesThatItImplements() {
        EpBackend backend = new Allocating();
        assertThat(backend.as(AllocatesMemory.class)).containsSame((AllocatesMemory) backend);
        assertThat(backend.as(RegistersMemory.class)).isEmpty();
        assertThat(backend.as(RecoverableBackend.class)).isEmpty();
    }

    @Test
    void aBackendThatDoesNotSaySoNeitherCountsTrafficNorAllowsRelaxedStores() {
        Allocating backend = new Allocating();
        assertThat(backend.traffic()).isEmpty();
        assertThat(backend.relaxedStoresRefusal()).isPresent();
    }
}
