package org.ep4j.tck.ranks;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ShellTest {
    /** The command may have stopped this process past the deadline. */
    @Test
    void aCommandWhoseEndIsFoundJustAfterTheDeadlineHasNotFailed() {
        Shell.run("sleep 0.1", Duration.ZERO);
    }

    @Test
    void namesACommandThatFails() {
        assertThatThrownBy(() -> Shell.run("exit 7", Duration.ofMinutes(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("\"exit 7\" ended with exit code 7");
    }
}
