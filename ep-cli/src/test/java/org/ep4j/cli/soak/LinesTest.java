package org.ep4j.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class LinesTest {
    @Test
    void ordersAreReadAsTheyWereWritten() {
        ShapeSpec shape = new ShapeSpec(256, 9, 3, 64, 16, true);
        for (Order order : List.of(
                new Order.Join(1, 4, 3000, Map.of("ep.timeout", "5s"), shape, Long.MAX_VALUE - 3),
                new Order.Run(3, Long.MIN_VALUE, 8, 5, 0),
                new Order.Recreate(shape, 10),
                new Order.Close(3, 4),
                new Order.Dump())) {
            assertThat(order.encode().lines()).hasSize(1);
            assertThat(Order.decode(order.encode())).isEqualTo(order);
        }
    }

    @Test
    void answersAreReadAsTheyWereWritten() {
        for (Answer answer : List.of(
                new Answer.Started(),
                new Answer.Ready(List.of("host-shm")),
                new Answer.Refused("EpResourceException", "no room\nat all"),
                new Answer.Ran(2, 8, 1L << 40),
                new Answer.Broken(2, "dispatch", "EpPeerLostException", "lost"),
                new Answer.Recovered(2, Set.of(1, 3), 40),
                new Answer.Out(2, "out"),
                new Answer.GaveUp(2, "EpTimeoutException", "late"),
                new Answer.Wrong(2, "combine", "x is 1, must be 2"),
                new Answer.Failed(2, "combine", "stack"),
                new Answer.Closed(List.of("fd socket"), Optional.of(new Resources.Count(3, 4, 5))),
                new Answer.Stacks("main\n    at x\n"))) {
            assertThat(answer.encode().lines()).hasSize(1);
            assertThat(Answer.decode(answer.encode())).contains(answer);
        }
    }

    @Test
    void whatRanksPrintBesidesIsNoAnswer() {
        assertThat(Answer.decode("INFO something happened")).isEmpty();
        assertThat(Answer.decode("")).isEmpty();
    }
}
