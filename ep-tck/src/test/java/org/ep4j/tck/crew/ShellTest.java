package org.ep4j.tck.crew;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ShellTest {
    /** As it seems to a process that was stopped past the deadline by the command itself. */
    @Test
    void aCommandWhoseEndIsSeenJustAfterTheDeadlineHasNotFailed() {
        Shell.run("sleep 0.1", Duration.ZERO);
    }

    @Test
    void namesACommandThatFails() {
        assertThatThrownBy(() -> Shell.run("exit 7", Duration.ofMinutes(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("\"exit 7\" ended with exit code 7");
    }
}
