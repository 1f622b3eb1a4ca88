package org.ep4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Native;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class NativeMethodsTest {
    private static final class Present {
        native int getpid();
    }

    private static final class Missing {
        native int ep4j_has_no_such_function();
    }

    /** JNA gives nothing back of a binding, so a second one for the next group would leak. */
    @Test
    void bindsAClassToALibraryOnce() {
        NativeMethods.bindToC(Present.class);
        assertThat((long) new Present().getpid())
                .isEqualTo(ProcessHandle.current().pid());
        Native.unregister(Present.class);
        NativeMethods.bindToC(Present.class);
        assertThat(Native.registered(Present.class)).as("bound anew").isFalse();
    }

    @Test
    void aFunctionThatIsMissingIsNamedEachTime() {
        for (int tries = 0; tries < 2; tries++) {
            assertThatThrownBy(() -> NativeMethods.bindToC(Missing.class))
                    .isInstanceOf(LinkageError.class)
                    .hasMessageContaining("ep4j_has_no_such_function");
        }
    }
}
