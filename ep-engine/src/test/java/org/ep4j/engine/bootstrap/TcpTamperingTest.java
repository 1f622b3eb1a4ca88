package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;

/** An attacker between a rank and rank 0 changes, drops, repeats and reorders their records. */
@Tag("verify")
final class TcpTamperingTest {
    private final Ranks ranks = new Ranks();

    @AfterEach
    void end() {
        ranks.close();
    }

    /** Gathers again and again, and says with what that ended. Never with a wrong value. */
    private static String gather(Bootstrap member) {
        for (int i = 0; i < 100; i++) {
            String tag = "t" + i;
            byte[] mine = (tag + " of " + member.rank()).getBytes(StandardCharsets.UTF_8);
            try {
                List<byte[]> all = member.allGather(tag, mine, Duration.ofHours(1));
                assertThat(all)
                        .extracting(bytes -> new String(bytes, StandardCharsets.UTF_8))
                        .containsExactly(tag + " of 0", tag + " of 1");
            } catch (EpException e) {
                return String.valueOf(e.getMessage());
            }
        }
        return "all gathers ended well";
    }

    @Property(tries = 100)
    void whateverIsDoneToARecordEndsTheConnection(@ForAll long seed) throws Exception {
        Random random = new Random(seed);
        List<ManInTheMiddle.Act> acts = List.of(ManInTheMiddle.Act.values());
        ManInTheMiddle.Act act = acts.get(random.nextInt(acts.size()));
        TestClock clock = new TestClock();
        TcpSettings zero = TcpGroup.clock(TcpGroup.settings(0, 2, 0), clock);
        RendezvousServer server = RendezvousServer.start(zero);
        try (ManInTheMiddle middle = new ManInTheMiddle(
                server.port(), act, random.nextBoolean(), 1 + random.nextInt(8), random.nextInt(1 << 12))) {
            List<Bootstrap> group = ranks.all(
                    2,
                    rank -> TcpGroup.join(
                            TcpGroup.rank(zero, rank, rank == 0 ? server.port() : middle.port()),
                            rank == 0 ? server : null));
            List<CompletableFuture<String>> ends = group.stream()
                    .map(member -> ranks.start(() -> gather(member)))
                    .toList();
            // Heartbeats show that something was dropped, silence that a length was changed.
            for (Duration passed = Duration.ZERO;
                    !isDone(ends) && passed.compareTo(Ranks.LONG.multipliedBy(20)) < 0;
                    passed = passed.plusSeconds(2)) {
                clock.advance(Duration.ofSeconds(2));
            }
            String both = Ranks.get(ends.get(0)) + " | " + Ranks.get(ends.get(1));
            assertThat(middle.acted()).as("%s: %s", act, both).isTrue();
            assertThat(both)
                    .as(act.toString())
                    .containsAnyOf("is not authentic", "was changed in transit", "connection was silent");
            group.forEach(Bootstrap::close);
        } finally {
            server.abandon();
        }
    }

    private static boolean isDone(List<CompletableFuture<String>> ends) throws Exception {
        try {
            CompletableFuture.allOf(ends.toArray(new CompletableFuture<?>[0])).get(20, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException e) {
            return false;
        }
    }
}
