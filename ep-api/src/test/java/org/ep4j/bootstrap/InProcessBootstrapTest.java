package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class InProcessBootstrapTest extends BootstrapContract {
    @Override
    List<Bootstrap> form(int size) {
        return InProcessBootstrap.create(size, clock);
    }

    @Override
    void kill(Bootstrap member) {
        ((InProcessBootstrap) member).fail("killed by the test");
    }

    @Test
    void theReasonOfAFailureReachesTheOthers() {
        List<Bootstrap> group = form(2);
        kill(group.get(1));
        assertThatThrownBy(() -> group.get(0).barrier("t", Ranks.LONG)).hasMessageContaining("killed by the test");
        assertThatThrownBy(() -> group.get(1).barrier("t", Ranks.LONG))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("declared dead: killed by the test");
        assertThat(group.get(1).state(1)).isEqualTo(MemberState.LOST);
    }

    @Test
    void aFailureAfterTheCloseChangesNothing() {
        List<Bootstrap> group = form(2);
        group.get(1).close();
        kill(group.get(1));
        assertThat(group.get(0).state(1)).isEqualTo(MemberState.LEFT);
    }

    @Test
    void aCloseAfterTheFailureLeavesItLost() {
        List<Bootstrap> group = form(2);
        kill(group.get(1));
        group.get(1).close();
        assertThat(group.get(0).state(1)).isEqualTo(MemberState.LOST);
    }

    @Test
    void aGroupOfNobodyIsRefused() {
        assertThatThrownBy(() -> Bootstraps.inProcess(0))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("size is 0");
    }
}
