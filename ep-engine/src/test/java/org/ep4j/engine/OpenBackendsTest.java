package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class OpenBackendsTest {
    private static final EpBackend ALLOCATES = new Fake("allocates", Set.of(Purpose.MAPPED), false);
    private static final EpBackend POSTS = new Fake("posts", Set.of(Purpose.DEVICE_POSTED), true);
    private static final EpBackend REGISTERS = new Fake("registers", Set.of(), true);

    /**
     * A backend that is only asked what it can do.
     *
     * @param purposes for which it allocates memory
     * @param registers whether it registers memory
     */
    private record Fake(String id, Set<Purpose> purposes, boolean registers)
            implements EpBackend, AllocatesMemory, RegistersMemory {
        @Override
        public <C> Optional<C> as(Class<C> capability) {
            boolean has = capability.equals(RegistersMemory.class)
                    ? registers
                    : capability.equals(AllocatesMemory.class) && !purposes.isEmpty();
            return has ? EpBackend.super.as(capability) : Optional.empty();
        }

        @Override
        public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SymmetricBuffer register(String name, ExposedMemory memory, Duration timeout) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Optional<String> refusal(ExposedMemory.Kind kind) {
            return Optional.empty();
        }

        @Override
        public void tryRegister(ExposedMemory memory) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {}
    }

    @Test
    void backendsThatAllocateOrRegisterAreAccepted() {
        assertThatCode(() -> OpenBackends.check(List.of(ALLOCATES, POSTS, REGISTERS)))
                .doesNotThrowAnyException();
    }

    @Test
    void aBackendThatCannotMakeABufferIsRefused() {
        EpBackend nothing = new Fake("nothing", Set.of(), false);
        assertThatThrownBy(() -> OpenBackends.check(List.of(REGISTERS, nothing)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        "backend nothing has a defect",
                        "neither allocates memory (AllocatesMemory) nor registers memory (RegistersMemory)",
                        "ep.backend.exclude=nothing");
    }

    @Test
    void aBackendThatAllocatesTheMemoryAndRegistersSomeIsRefused() {
        EpBackend both = new Fake("both", Set.of(Purpose.MAPPED), true);
        assertThatThrownBy(() -> OpenBackends.check(List.of(both)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        "backend both has a defect", "MAPPED", "RegistersMemory", "ep.backend.exclude=both");
    }

    @Test
    void onlyOneBackendAllocatesTheMemory() {
        EpBackend second = new Fake("more", Set.of(Purpose.MAPPED), false);
        assertThatThrownBy(() -> OpenBackends.check(List.of(second, ALLOCATES)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("backends allocates and more both want", "ep.backend.exclude");
    }

    @Test
    void aBackendThatAllocatesForAnyPurposeGetsNoMemoryToRegister() {
        OpenBackends open = new OpenBackends(Map.of("allocates", ALLOCATES, "posts", POSTS, "registers", REGISTERS));
        assertThat(open.registering()).containsExactly(REGISTERS);
        assertThat(open.allocator(Purpose.MAPPED)).contains(ALLOCATES);
        assertThat(open.allocator(Purpose.DEVICE_POSTED)).contains(POSTS);
    }
}
