package org.ep4j.examples.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The layer gives on several ranks what it gives on one. */
@Tag("verify")
final class MoeLayerTest {
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void onTheHost(int ranks) throws InterruptedException {
        check(new MoeLayerExample("host", 32).threads(ranks), ranks);
    }

    /** On emulated GPUs, which the build of ep-engine makes where there is g++; then the kernel runs, too. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void onGpus(int ranks) throws InterruptedException {
        String driver = System.getenv().getOrDefault("EP_CUDA_DRIVER", "");
        boolean there = !driver.isEmpty() && Files.exists(Path.of(driver));
        if (!there && "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            throw new AssertionError("no emulated CUDA at " + driver);
        }
        if (!there) {
            System.out.println("skipped: no emulated CUDA at \"" + driver + "\" (EP_CUDA_DRIVER)");
        }
        assumeTrue(there, "no emulated CUDA");
        check(new MoeLayerExample("cuda", 16).threads(ranks), ranks);
    }

    private static void check(List<MoeLayerExample.Found> found, int ranks) {
        assertThat(found).hasSize(ranks);
        assertThat(found).allSatisfy(one -> {
            assertThat(one.exact().different()).as("%s", one).isZero();
            assertThat(one.partial().beyond()).as("%s", one).isZero();
        });
        // Rounding in another order is there, or the tolerance would hide nothing.
        assertThat(found)
                .anySatisfy(one -> assertThat(one.partial().different()).isPositive());
    }
}
