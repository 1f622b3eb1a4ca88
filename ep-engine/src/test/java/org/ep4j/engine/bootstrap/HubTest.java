package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.Bootstrap.MemberState;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The order in which members learn of a loss, also when one of them cannot be reached. */
@Tag("verify")
final class HubTest {
    private static final int SIZE = 4;

    /** Writes down what it gets. */
    private static class Inbox implements Hub.Inbox {
        final List<String> got = new ArrayList<>();

        @Override
        public void result(Hub.Result result) {
            got.add("result " + result.tag);
        }

        @Override
        public void failed(String scope, String tag, GatherFailure failure) {
            got.add("failed " + tag + " " + failure.kind() + " " + failure.ranks());
        }

        @Override
        public void memberGone(String scope, int member, MemberState state, String reason) {
            got.add("gone " + member + " " + state + " " + reason);
        }
    }

    /** Gets nothing. */
    private static final class Unreachable extends Inbox {
        @Override
        public void result(Hub.Result result) {
            throw new OutOfMemoryError("Java heap space");
        }

        @Override
        public void memberGone(String scope, int member, MemberState state, String reason) {
            throw new OutOfMemoryError("Java heap space");
        }
    }

    private final List<Inbox> inboxes = new ArrayList<>();

    private Hub hub(int unreachable, boolean formed, Runnable onFormed) {
        Hub hub = new Hub(SIZE, formed, onFormed);
        for (int rank = 0; rank < SIZE; rank++) {
            Inbox inbox = rank == unreachable ? new Unreachable() : new Inbox();
            inboxes.add(inbox);
            hub.attach(rank, inbox);
        }
        return hub;
    }

    @Test
    void reportsALossBeforeTheFailuresOfGathers() {
        Hub hub = hub(-1, true, () -> {});
        hub.declare(0, "1:s", List.of(0, 2));
        hub.contribute(0, Hub.ROOT, "all", new byte[0]);
        hub.contribute(0, "1:s", "some", new byte[0]);
        hub.disconnected(2, "it died");
        assertThat(inboxes.get(0).got.get(0)).isEqualTo("gone 2 LOST it died");
        assertThat(inboxes.get(0).got.subList(1, 3))
                .containsExactlyInAnyOrder("failed all LOST [2]", "failed some LOST [2]");
    }

    @Test
    void failsTheGathersOfTheOthersEvenIfAMemberCannotBeNotified() {
        Hub hub = hub(1, true, () -> {});
        hub.declare(0, "1:s", List.of(0, 2));
        hub.contribute(0, Hub.ROOT, "all", new byte[0]);
        assertThat(catchThrowable(() -> hub.disconnected(2, "it died"))).isInstanceOf(OutOfMemoryError.class);
        hub.contribute(0, "1:s", "some", new byte[0]);
        assertThat(inboxes.get(0).got)
                .containsExactly("gone 2 LOST it died", "failed all LOST [2]", "failed some LOST [2]");
        assertThat(inboxes.get(3).got).containsExactly("gone 2 LOST it died");
    }

    @Test
    void givesTheResultToTheOthersEvenIfAMemberCannotGetIt() {
        AtomicInteger formed = new AtomicInteger();
        Hub hub = hub(1, false, formed::incrementAndGet);
        for (int rank = 0; rank < SIZE - 1; rank++) {
            hub.contribute(rank, Hub.SETUP, Hub.SETUP_TAG, new byte[0]);
        }
        assertThat(formed).hasValue(0);
        assertThat(catchThrowable(() -> hub.contribute(SIZE - 1, Hub.SETUP, Hub.SETUP_TAG, new byte[0])))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(formed).hasValue(1);
        for (int rank : new int[] {0, 2, 3}) {
            assertThat(inboxes.get(rank).got).containsExactly("result start");
        }
    }
}
