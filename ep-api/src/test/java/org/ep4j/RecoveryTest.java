package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RecoveryTest {
    private static final Recovery RECOVERY = Recovery.of(Set.of(1), Map.of(0, 7L, 2, 5L, 3, 9L));

    @Test
    void theSmallestNumberIsRolledBackTo() {
        assertThat(RECOVERY.masked()).containsExactly(1);
        assertThat(RECOVERY.completed(3)).isEqualTo(9);
        assertThat(RECOVERY.rollbackTo()).isEqualTo(5);
    }

    @Test
    void onlySurvivorsHaveCompletedOperations() {
        assertThatThrownBy(() -> RECOVERY.completed(1))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("rank is 1, must be one of the survivors [0, 2, 3]");
        assertThatThrownBy(() -> Recovery.of(Set.of(0), Map.of())).isInstanceOf(EpArgumentException.class);
    }

    @Test
    void recoveriesAreValues() {
        Recovery same = Recovery.of(Set.of(1), Map.of(3, 9L, 2, 5L, 0, 7L));
        assertThat(RECOVERY).isEqualTo(same).hasSameHashCodeAs(same);
        assertThat(RECOVERY).isNotEqualTo(Recovery.of(Set.of(), Map.of(0, 7L, 2, 5L, 3, 9L)));
        assertThat(RECOVERY).hasToString("Recovery[masked=[1], completed={0=7, 2=5, 3=9}]");
    }
}
