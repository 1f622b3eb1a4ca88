package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEngine;
import org.ep4j.EpStateException;
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
        EpEngine.installed().declareDead(member, "killed by the test");
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
    void noneButAMemberOfThisProcessIsDeclaredDead() {
        Bootstrap part = form(2).get(0).subgroup("part", List.of(0));
        assertThatThrownBy(() -> EpEngine.installed().declareDead(part, "killed by the test"))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("must be one of Bootstrap.inProcess");
    }

    @Test
    void aGroupOfNobodyIsRefused() {
        assertThatThrownBy(() -> Bootstrap.inProcess(0))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("size is 0");
    }
}
