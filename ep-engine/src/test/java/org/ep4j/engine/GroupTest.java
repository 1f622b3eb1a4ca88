package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPath;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.membership.LivenessLocks;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Collective calls of a group of which not all ranks take part: recovery of a buffer does not help them. */
@Tag("verify")
final class GroupTest {
    private static final int RANKS = 3;
    private static final Duration BRIEF = Duration.ofMillis(5);

    private final List<Bootstrap> members = Bootstrap.inProcess(RANKS);
    private final EpConfig config =
            EpConfig.builder(Map.of(), Map.of()).set("ep.setup-timeout", "5ms").build();
    private final Group group = new Group(
            members.get(0),
            config,
            Tuning.of(config, HostPlans.mapped(RANKS), 0, new HostDevice(), Map.of()),
            HostPlans.mapped(RANKS),
            new HostDevice(),
            new OpenBackends(Map.of()),
            LivenessLocks.create("h", List.of(), false),
            "memory of this test is fixed");

    @AfterEach
    void close() {
        group.close();
        members.forEach(Bootstrap::close);
    }

    private void createsNoBuffer(Class<? extends EpException> failure) {
        EpShape shape = EpShape.builder(64, 6, 2).maxTokens(4).build();
        assertThatThrownBy(() -> group.createBuffer(shape))
                .isInstanceOfSatisfying(failure, e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN));
    }

    private static void names(int peer, EpFailure failure, EpException e) {
        assertThat(failure.peer()).isEqualTo(peer);
        assertThat(failure.host()).isEqualTo("host-" + peer);
        assertThat(failure.path()).map(EpPath::to).hasValue(peer);
        assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN);
        assertThat(e).hasCauseInstanceOf(e.getClass());
    }

    @Test
    void aGroupWhoseRanksDoNotComeIsJoinedAgain() {
        createsNoBuffer(EpTimeoutException.class);
        assertThatThrownBy(() -> group.barrier(BRIEF)).isInstanceOfSatisfying(EpTimeoutException.class, e -> {
            assertThat(e.failure().peer()).isEqualTo(-1);
            assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN);
        });
    }

    @Test
    void aBarrierWithoutALostRankNamesTheOneThatDoesNotCome() {
        new Engine().declareDead(members.get(1), "lost in a test");
        assertThatThrownBy(() -> group.barrier(BRIEF))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> names(2, e.failure(), e));
        createsNoBuffer(EpPeerLostException.class);
    }

    @Test
    void aBarrierNamesARankThatHasLeft() {
        members.get(2).close();
        assertThatThrownBy(() -> group.barrier(Guard.minute()))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> names(2, e.failure(), e));
    }
}
