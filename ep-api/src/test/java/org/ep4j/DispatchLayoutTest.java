package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class DispatchLayoutTest {
    /** Two tokens, 70 ranks on 2 hosts, 140 experts. */
    private static DispatchLayout.Builder builder() {
        return DispatchLayout.builder(2, 70, 2, 140)
                .select(0, 0, 0, 0)
                .select(0, 1, 0, 0)
                .select(0, 139, 69, 1)
                .select(1, 138, 69, 1)
                .select(1, 138, 69, 1);
    }

    @Test
    void tokensCountOnceForARankAndAHostAndOftenForAnExpert() {
        DispatchLayout layout = builder().build();
        assertThat(layout.tokensToRank(0)).isEqualTo(1);
        assertThat(layout.tokensToRank(1)).isZero();
        assertThat(layout.tokensToRank(69)).isEqualTo(2);
        assertThat(layout.tokensToHost(0)).isEqualTo(1);
        assertThat(layout.tokensToHost(1)).isEqualTo(2);
        assertThat(layout.selections(0)).isEqualTo(1);
        assertThat(layout.selections(138)).isEqualTo(2);
        assertThat(layout.goesTo(0, 0)).isTrue();
        assertThat(layout.goesTo(0, 5)).isFalse();
        assertThat(layout.goesTo(0, 69)).isTrue();
        assertThat(layout.goesTo(1, 0)).isFalse();
        assertThat(layout.goesTo(1, 69)).isTrue();
    }

    @Test
    void layoutsAreValues() {
        DispatchLayout layout = builder().build();
        assertThat(layout)
                .isEqualTo(builder().build())
                .hasSameHashCodeAs(builder().build());
        assertThat(layout).isNotEqualTo(builder().select(1, 0, 0, 0).build());
        assertThat(layout.toString()).contains("tokensToHost=[1, 2]");
    }

    @Test
    void aBuilderThatGoesOnChangesNoLayout() {
        DispatchLayout.Builder builder = builder();
        DispatchLayout layout = builder.build();
        builder.select(1, 0, 0, 0);
        assertThat(layout).isEqualTo(builder().build());
    }

    @Test
    void tokensOutOfOrderAreRefused() {
        DispatchLayout.Builder builder = builder();
        assertThatThrownBy(() -> builder.select(0, 139, 69, 1))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("token is 0, must be at least 1");
    }

    @Test
    void indicesOutOfRangeAreRefusedByName() {
        DispatchLayout layout = builder().build();
        assertThatThrownBy(() -> layout.tokensToRank(70)).hasMessageContaining("rank is 70, must be in [0, 70)");
        assertThatThrownBy(() -> layout.tokensToHost(-1)).hasMessageContaining("host is -1, must be in [0, 2)");
        assertThatThrownBy(() -> layout.selections(140)).hasMessageContaining("expert is 140, must be in [0, 140)");
        assertThatThrownBy(() -> layout.goesTo(2, 0)).hasMessageContaining("token is 2, must be in [0, 2)");
        assertThatThrownBy(() -> layout.goesTo(0, 70)).isInstanceOf(EpArgumentException.class);
    }
}
