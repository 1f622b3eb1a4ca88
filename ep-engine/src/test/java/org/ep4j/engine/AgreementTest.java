package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.ep4j.EpUnavailableException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.spi.Bootstrap;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Steps in which one rank cannot do its part. */
@Tag("verify")
final class AgreementTest {
    /** As of a rank that runs out of memory in a step: the others must not wait for it until their deadline. */
    @Test
    void othersLearnAtOnceOfAnErrorInAStep() {
        List<Bootstrap> members = Bootstraps.inProcess(2);
        Error error = new OutOfMemoryError("Java heap space");
        CompletableFuture<Void> refusing =
                CompletableFuture.runAsync(() -> new Agreement(members.get(0)).refuse("step", error, Guard.minute()));
        assertThatThrownBy(() -> new Agreement(members.get(1)).exchange("step", new byte[0], Guard.minute()))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("stopped by other ranks, rank 0: java.lang.OutOfMemoryError: Java heap space");
        assertThat(refusing).succeedsWithin(Guard.minute());
        assertThat(error.getSuppressed()).isEmpty();
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
