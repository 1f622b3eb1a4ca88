package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.JniLibraryProblem;

/** Rows in Java and of every native variant, and memory with all kinds of numbers. */
public final class RowsForTests {
    private static final int PAGE = 4096;
    private static final String ALWAYS = "1";
    private static final String NEVER = "1T";

    private RowsForTests() {}

    /** The rows that settings ask for, of the only rank of a host. */
    static Rows of(String rows, String nonTemporalBytes) {
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.HOST_ROWS.name(), rows)
                .set(EpKeys.HOST_NON_TEMPORAL_BYTES.name(), nonTemporalBytes)
                .build();
        return Rows.of(config);
    }

    /** Rows in Java. */
    public static Rows java() {
        return of("java", NEVER);
    }

    /**
     * Names of the native variants of this processor.
     *
     * <p>Skips the test when there is no library; with {@code EP_REQUIRE_COMPILERS=1} the test fails instead.
     */
    public static List<String> variants() {
        Optional<JniLibraryProblem> problem = Rows.problem();
        if (problem.isPresent()) {
            String text = "no native rows: " + problem.get();
            assertThat(System.getenv("EP_REQUIRE_COMPILERS")).as(text).isNotEqualTo("1");
            System.out.println("skipped: " + text);
            assumeTrue(false, text);
        }
        return Rows.natives().stream().map(v -> v.variant().setting()).toList();
    }

    /** Rows where there is no library. */
    public static Rows withoutLibrary(String message, String remedy) {
        return Rows.withoutLibrary("auto", new JniLibraryProblem(message, remedy));
    }

    /** A variant that this processor or build lacks, if there is one. */
    public static Optional<String> lacking() {
        List<String> here = Rows.problem().isPresent()
                ? List.of()
                : Rows.natives().stream().map(v -> v.variant().setting()).toList();
        return Arrays.stream(RowVariant.values())
                .filter(v -> v != RowVariant.JAVA && !here.contains(v.setting()))
                .map(RowVariant::setting)
                .findFirst();
    }

    /** Every native variant with plain stores; skips as {@link #variants}. */
    static List<Rows> plain() {
        return variants().stream().map(v -> of(v, NEVER)).toList();
    }

    /** Every native variant with non-temporal stores for all; skips as {@link #variants}. */
    static List<Rows> nonTemporal() {
        return variants().stream().map(v -> of(v, ALWAYS)).toList();
    }

    /** Zeroed memory that begins at a page, freed when it is not referred to any more. */
    static HostMemory memory(long bytes) {
        ByteBuffer pages = ByteBuffer.allocateDirect((int) bytes + 2 * PAGE).alignedSlice(PAGE);
        return HostMemory.of(pages.slice(0, (int) bytes));
    }

    /** BF16 bits of any number, with more of what is special: zeros, subnormal numbers, infinities, NaN. */
    public static int channel(Random random) {
        return switch (random.nextInt(8)) {
            case 0 -> random.nextInt() & 0x807f;
            case 1 -> (random.nextInt() & 0x8000) | 0x7f80;
            default -> random.nextInt() & 0xffff;
        };
    }

    /** Memory full of such numbers. */
    static HostMemory numbers(Random random, long bytes) {
        HostMemory memory = memory(bytes);
        for (long at = 0; at + 4 <= bytes; at += 4) {
            memory.putInt(at, channel(random) | channel(random) << 16);
        }
        return memory;
    }

    /** What memory holds. */
    static byte[] bytes(HostMemory memory) {
        byte[] all = new byte[(int) memory.size()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }
}
