package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.ep4j.EpException.Recourse;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a caller can do about a gather that has failed. */
@Tag("verify")
final class GatherFailureTest {
    private static Recourse recourse(GatherFailure.Kind kind, String scope) {
        return new GatherFailure(kind, List.of(1), "why")
                .exception(Scope.all(scope, 2), "a step", Deadline.in(Duration.ZERO, NanoClock.SYSTEM))
                .recourse();
    }

    @ParameterizedTest
    @EnumSource(
            value = GatherFailure.Kind.class,
            names = {"MISSING", "LEFT", "LOST", "HUB_GONE"})
    void aGroupThatDoesNotFormIsJoinedAgain(GatherFailure.Kind kind) {
        assertThat(recourse(kind, Hub.SETUP)).isEqualTo(Recourse.REJOIN);
    }

    /** Nothing is gathered any more without the hub. */
    @ParameterizedTest
    @EnumSource(
            value = GatherFailure.Kind.class,
            names = {"MISSING", "LEFT", "LOST", "HUB_GONE"})
    void aGroupThatHasFormedIsJoinedAgainOnlyWithoutItsHub(GatherFailure.Kind kind) {
        assertThat(recourse(kind, Hub.ROOT))
                .isEqualTo(kind == GatherFailure.Kind.HUB_GONE ? Recourse.REJOIN : Recourse.RECOVER);
    }
}
