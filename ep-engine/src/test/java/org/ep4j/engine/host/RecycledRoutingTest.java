package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.ep4j.EpStateException;
import org.ep4j.engine.buffer.EngineHandle;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RecycledRoutingTest {
    private static final class Handle extends EngineHandle<FreeList<Object>, Object> {
        Handle(Object routing, FreeList<Object> free) {
            super(free, routing, 0);
        }

        @Override
        protected void free() {
            owner().add(routing());
        }
    }

    private final FreeList<Object> free = new FreeList<>(Object::new);
    private final Object routing = new Object();
    private final Handle handle = new Handle(routing, free);

    @Test
    void aRoutingIsUsedAgainAfterItsHandleIsClosed() {
        assertThat(free.take()).isNotSameAs(routing);
        handle.close();
        handle.close();
        assertThat(free.take()).isSameAs(routing);
        assertThat(free.take()).isNotSameAs(routing);
    }

    @Test
    void aRoutingIsNotUsedAgainWhileAnOperationUsesIt() {
        assertThat(handle.retain()).isSameAs(routing);
        assertThat(handle.retain()).isSameAs(routing);
        handle.close();
        handle.release();
        assertThat(free.take()).isNotSameAs(routing);
        handle.release();
        assertThat(free.take()).isSameAs(routing);
        assertThat(free.take()).isNotSameAs(routing);
    }

    @Test
    void aRoutingIsNotUsedAgainWhileItsHandleIsOpen() {
        handle.retain();
        handle.release();
        assertThat(free.take()).isNotSameAs(routing);
        handle.close();
        assertThat(free.take()).isSameAs(routing);
    }

    @Test
    void operationsAreRefusedAfterClose() {
        handle.retain();
        handle.close();
        assertThatThrownBy(handle::requireOpen)
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(handle::retain).isInstanceOf(EpStateException.class).hasMessageContaining("closed");
    }

    @Test
    void aClosedListKeepsNothing() {
        Object later = new Object();
        handle.close();
        free.close();
        new Handle(later, free).close();
        assertThat(free.take()).isNotSameAs(routing).isNotSameAs(later);
        assertThat(free.take()).isNotSameAs(routing).isNotSameAs(later);
    }
}
