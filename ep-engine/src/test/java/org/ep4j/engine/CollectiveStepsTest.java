package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.ep4j.Bootstrap;
import org.ep4j.EpException.Recourse;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Steps in which one rank cannot do its part. */
@Tag("verify")
final class CollectiveStepsTest {
    private static CollectiveSteps joining(Bootstrap member) {
        return new CollectiveSteps(member, Recourse.REJOIN);
    }

    /** As of a rank that runs out of memory in a step: the others must not wait for it until their deadline. */
    @Test
    void othersLearnAtOnceOfAnErrorInAStep() {
        List<Bootstrap> members = Bootstrap.inProcess(2);
        Error error = new OutOfMemoryError("Java heap space");
        CompletableFuture<Void> refusing =
                CompletableFuture.runAsync(() -> joining(members.get(0)).refuse("step", error, Guard.minute()));
        assertThatThrownBy(() -> joining(members.get(1)).exchange("step", new byte[0], Guard.minute()))
                .isInstanceOfSatisfying(
                        EpUnavailableException.class,
                        e -> assertThat(e.recourse()).isEqualTo(Recourse.REJOIN))
                .hasMessageContaining("stopped by other ranks, rank 0: java.lang.OutOfMemoryError: Java heap space");
        assertThat(refusing).succeedsWithin(Guard.minute());
        assertThat(error.getSuppressed()).isEmpty();
        members.forEach(Bootstrap::close);
    }

    /** The others may recover again without it. */
    @Test
    void ranksThatRecoverMayRecoverAgainWhenOneOfThemCannot() {
        List<Bootstrap> members = Bootstrap.inProcess(2);
        Error error = new OutOfMemoryError("Java heap space");
        CompletableFuture<Void> refusing =
                CompletableFuture.runAsync(() -> recovering(members.get(0)).refuse("step", error, Guard.minute()));
        assertThatThrownBy(() -> recovering(members.get(1)).exchange("step", new byte[0], Guard.minute()))
                .isInstanceOfSatisfying(
                        EpUnavailableException.class,
                        e -> assertThat(e.recourse()).isEqualTo(Recourse.RECOVER))
                .hasMessageContaining("rank 3: java.lang.OutOfMemoryError");
        assertThat(refusing).succeedsWithin(Guard.minute());
        members.forEach(Bootstrap::close);
    }

    private static CollectiveSteps recovering(Bootstrap member) {
        return new CollectiveSteps(
                member,
                List.of(3, 5),
                failure -> failure.toBuilder().host("host " + failure.peer()).build());
    }

    @Test
    void aRankThatDoesNotComeIsNamedByItsNumberAndHost() {
        List<Bootstrap> members = Bootstrap.inProcess(2);
        assertThatThrownBy(() -> recovering(members.get(0)).exchange("step", new byte[0], Duration.ZERO))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(5);
                    assertThat(e.failure().host()).isEqualTo("host 5");
                    assertThat(e.recourse()).isEqualTo(Recourse.RECOVER);
                })
                .hasCauseInstanceOf(EpTimeoutException.class);
        members.forEach(Bootstrap::close);
    }

    @Test
    void allStepsOfAnEndAreRunAndItsFirstFailureIsThrown() {
        List<String> run = new ArrayList<>();
        Error first = new OutOfMemoryError("Java heap space");
        IllegalStateException second = new IllegalStateException("later");
        assertThatThrownBy(() -> Group.closeAll(List.of(
                        () -> {
                            throw first;
                        },
                        () -> run.add("second"),
                        () -> {
                            throw second;
                        },
                        () -> run.add("fourth"))))
                .isSameAs(first)
                .hasSuppressedException(second);
        assertThat(run).containsExactly("second", "fourth");
    }
}
