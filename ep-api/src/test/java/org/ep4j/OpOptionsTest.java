package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

final class OpOptionsTest {
    @Test
    void multiprocessorsStayWhateverElseIsChosen() {
        OpOptions options = OpOptions.DEFAULT
                .multiprocessors(8)
                .onStream(7)
                .asynchronous()
                .after(EpEvent.completed())
                .timeout(Duration.ofSeconds(3));
        assertThat(options.multiprocessors()).hasValue(8);
        assertThat(options.stream()).isEqualTo(7);
        assertThat(options.async()).isTrue();
        assertThat(options.after()).hasSize(1);
        assertThat(options.timeout()).contains(Duration.ofSeconds(3));
        assertThat(OpOptions.DEFAULT.multiprocessors()).isEmpty();
    }

    @Test
    void anOperationNeedsAMultiprocessor() {
        assertThatThrownBy(() -> OpOptions.DEFAULT.multiprocessors(0))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContainingAll("multiprocessors", "0", ">= 1");
    }
}
