package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class LinkPollerTest {
    private final LinkPoller poller = new LinkPoller();

    @Test
    void onlyAThreadThatAsksForOnePeerAgainPollsOften() {
        LinkPoller.Budget polls = new LinkPoller.Budget();
        try (LinkPair pair = new LinkPair(new Random(1), 1, 1, false, new LinkSettings(1 << 16, 32, Guard.minute()))) {
            Link one = pair.link(0);
            Link other = pair.link(1);
            assertThat(polls.of(one)).isEqualTo(1);
            assertThat(polls.of(one)).isGreaterThan(1);
            assertThat(polls.of(other)).isEqualTo(1);
            assertThat(polls.of(one)).isEqualTo(1);
        }
    }

    @Test
    void commandsRunInOrderWhileTheyAreWanted() {
        List<String> done = new ArrayList<>();
        assertThat(poller.hasCommands()).isFalse();
        poller.submit(() -> {
            done.add("first");
            poller.submit(() -> done.add("third"));
        });
        poller.submit(() -> done.add("second"));
        assertThat(poller.hasCommands()).isTrue();
        poller.runCommands(() -> done.size() < 2);
        assertThat(done).containsExactly("first", "second");
    }

    /** As of a thread that got no processor until its deadline. */
    @Test
    void aCallThatIsLatePollsOnceMore() {
        for (int call = 0; call < 2; call++) {
            poller.beginCall(Duration.ZERO);
            assertThat(poller.isCallOver()).isFalse();
            assertThat(poller.isCallOver()).isTrue();
        }
        poller.beginCall(Deadline.at(System.nanoTime()));
        assertThat(poller.isCallOver()).isFalse();
        assertThat(poller.isCallOver()).isTrue();
    }
}
