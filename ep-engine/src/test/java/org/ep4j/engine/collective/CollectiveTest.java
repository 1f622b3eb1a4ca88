package org.ep4j.engine.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.spi.Bootstrap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Ranks 0 to 3 have opened a backend, and 1 and 3 go on. */
final class CollectiveTest {
    private static final List<Integer> LEFT = List.of(1, 3);

    private final List<Bootstrap> members = Bootstraps.inProcess(4);
    private final List<Bootstrap> left =
            LEFT.stream().map(rank -> members.get(rank).subgroup("left", LEFT)).toList();
    private final List<Collective> collectives = LEFT.stream()
            .map(rank -> new Collective("wires", TestContexts.context(members.get(rank))))
            .toList();

    @AfterEach
    void close() {
        members.forEach(Bootstrap::close);
    }

    private void goOn() {
        IntStream.range(0, 2).forEach(i -> collectives.get(i).continueWith(left.get(i), LEFT));
    }

    private static Deadline soon() {
        return Deadline.in(Duration.ofSeconds(20));
    }

    private static List<byte[]> step(Collective collective, byte mine) {
        return collective.step("step", soon(), () -> new byte[] {mine});
    }

    @Test
    void stepsAreAmongTheSurvivorsInTheOrderOfTheirRanks() {
        goOn();
        CompletableFuture<List<byte[]>> third = CompletableFuture.supplyAsync(() -> step(collectives.get(1), (byte) 3));
        assertThat(step(collectives.get(0), (byte) 1)).containsExactly(new byte[] {1}, new byte[] {3});
        assertThat(third.join()).hasSize(2);
        assertThat(collectives.get(0).ranks()).isEqualTo(LEFT);
    }

    @Test
    void failuresNameTheRankInThePlan() {
        goOn();
        CompletableFuture<List<byte[]>> third =
                CompletableFuture.supplyAsync(() -> collectives.get(1).step("step", soon(), () -> {
                    throw new EpResourceException("no room");
                }));
        assertThatThrownBy(() -> step(collectives.get(0), (byte) 1))
                .isInstanceOf(EpResourceException.class)
                .hasMessageContainingAll("rank 3", "no room");
        assertThatThrownBy(third::join).hasCauseInstanceOf(EpException.class);
        assertThatThrownBy(() -> collectives.get(0).requireEqualSizes("b", List.of(1L, 2L)))
                .isInstanceOf(EpMismatchException.class)
                .hasMessageContainingAll("rank 1", "rank 3");
        left.get(1).close();
        assertThatThrownBy(() -> collectives.get(0).step("next", soon(), () -> new byte[0]))
                .isInstanceOfSatisfying(
                        EpPeerLostException.class, e -> assertThat(e.peer()).isEqualTo(3))
                .hasMessageContaining("rank 3");
    }

    @Test
    void aSnapshotStaysAmongTheRanksOfItsTime() {
        Collective before = collectives.get(0).snapshot();
        goOn();
        assertThat(before.ranks()).containsExactly(0, 1, 2, 3);
        assertThat(before.members().bootstrap()).isSameAs(members.get(1));
        assertThat(collectives.get(0).snapshot().ranks()).isEqualTo(LEFT);
    }

    @Test
    void ranksOrMembersThatDoNotFitAreRefused() {
        Collective collective = collectives.get(0);
        assertThatThrownBy(() -> collective.continueWith(left.get(0), List.of(3, 1)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContainingAll("[3, 1]", "ascending");
        assertThatThrownBy(() -> collective.continueWith(left.get(0), List.of(1, 4)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("[1, 4]");
        assertThatThrownBy(() -> collective.continueWith(left.get(0), List.of(2, 3)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("with 1 among them");
        assertThatThrownBy(() -> collective.continueWith(left.get(1), LEFT))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContainingAll("member 1 of 2", "member 0 of 2");
        assertThat(collective.ranks()).hasSize(4);
        goOn();
        assertThatThrownBy(() -> collective.continueWith(members.get(1), List.of(0, 1, 2, 3)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("some of [1, 3]");
    }
}
