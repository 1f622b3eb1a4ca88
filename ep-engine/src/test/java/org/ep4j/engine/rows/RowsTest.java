package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.memory.JniLibraryProblem;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Native rows against those in Java. */
@Tag("verify")
class RowsTest {
    private static final Rows JAVA = Rows.of("java", 1);
    private static final int GUARD = 64;

    /** Stored around the caches, whatever their size. */
    private static final long LARGE = Long.MAX_VALUE / 2;

    /** Skips the test when the library could not be built; fails it where a compiler is, or with {@code EP_REQUIRE_COMPILERS=1}. */
    private static List<Rows> natives() {
        Optional<JniLibraryProblem> problem = RowsLibrary.problem();
        if (problem.isPresent()) {
            String text = "no native rows: " + problem.get().message() + "; "
                    + problem.get().remedy();
            boolean required = "1".equals(System.getenv("EP_REQUIRE_COMPILERS"));
            assertThat(required || Files.exists(Path.of("/usr/bin/g++")))
                    .as(text)
                    .isFalse();
            System.out.println("skipped: " + text);
            assumeTrue(false, text);
        }
        return Rows.natives().stream().map(v -> Rows.of(v.setting(), 1)).toList();
    }

    @Test
    void theLibraryIsThereWhereACompilerIs() {
        assertThat(natives()).isNotEmpty();
    }

    private static HostMemory memory(long bytes) {
        return HostMemory.of(new HostDevice().allocate(bytes).memory());
    }

    /** Any bits, with more of what is special: zeros, subnormal numbers, infinities, NaN. */
    private static int channel(Random random) {
        return switch (random.nextInt(8)) {
            case 0 -> random.nextInt() & 0x807f;
            case 1 -> (random.nextInt() & 0x8000) | 0x7f80;
            default -> random.nextInt() & 0xffff;
        };
    }

    private static HostMemory rows(Random random, int rows, int hidden) {
        HostMemory memory = memory(2L * rows * hidden);
        for (long i = 0; i < (long) rows * hidden / 2; i++) {
            memory.putInt(4 * i, channel(random) | channel(random) << 16);
        }
        return memory;
    }

    private static int channel(HostMemory memory, long index) {
        return memory.getInt(index / 2 * 4) >>> (16 * (index % 2)) & 0xffff;
    }

    private static boolean isSpecial(int bits) {
        return (bits & 0x7f80) == 0x7f80;
    }

    /** One or no NaN or infinity has one result; which NaN comes out of several is the processor's choice. */
    private static int comparable(int bits, boolean exact) {
        return !exact && (bits & 0x7fff) > 0x7f80 ? 0x7fc0 : bits;
    }

    @Property(tries = 300)
    void sumsHaveTheBitsOfThoseInJava(
            @ForAll long seed,
            @ForAll @IntRange(min = 0, max = 32) int rows,
            @ForAll @IntRange(min = 1, max = 150) int units) {
        Random random = new Random(seed);
        int hidden = 8 * units;
        HostMemory x = rows(random, Math.max(1, rows), hidden);
        boolean weighted = random.nextBoolean();
        float[] weights = new float[rows];
        for (int r = 0; r < rows; r++) {
            weights[r] = random.nextInt(10) == 0 ? Float.NaN : random.nextFloat() * 4 - 2;
        }
        long offset = 16L * random.nextInt(5);
        HostMemory expected = sum(JAVA, x, rows, hidden, weighted, weights, offset, 0);
        for (Rows natively : natives()) {
            for (long bytes : new long[] {0, LARGE}) {
                HostMemory got = sum(natively, x, rows, hidden, weighted, weights, offset, bytes);
                for (int i = 0; i < expected.size() / 2; i++) {
                    long c = i - offset / 2;
                    int special = 0;
                    for (int r = 0; r < rows && c >= 0 && c < hidden; r++) {
                        special += isSpecial(channel(x, (long) r * hidden + c)) ? 1 : 0;
                    }
                    boolean exact = !weighted && special < 2;
                    assertThat(comparable(channel(got, i), exact))
                            .as("%s, channel %d", natively.description(), c)
                            .isEqualTo(comparable(channel(expected, i), exact));
                }
            }
        }
    }

    private static HostMemory sum(
            Rows how, HostMemory x, int rows, int hidden, boolean weighted, float[] weights, long offset, long bytes) {
        HostMemory out = memory(2L * hidden + offset + GUARD);
        RowSum sum = new RowSum(hidden, how);
        sum.begin(bytes);
        sum.clear();
        for (int r = 0; r < rows; r++) {
            if (weighted) {
                sum.add(x, 2L * r * hidden, weights[r]);
            } else {
                sum.add(x, 2L * r * hidden);
            }
        }
        sum.store(out, offset);
        sum.finish();
        return out;
    }

    @Test
    void moreSumsThanAListHoldsAreAllStored() {
        int tokens = 3000;
        int hidden = 16;
        HostMemory x = rows(new Random(1), tokens, hidden);
        for (Rows natively : natives()) {
            HostMemory out = memory(2L * tokens * hidden);
            RowSum sum = new RowSum(hidden, natively);
            sum.begin(out.size());
            for (int t = 0; t < tokens; t++) {
                sum.clear();
                sum.add(x, 2L * t * hidden, 0.5f);
                sum.add(x, 2L * t * hidden, 0.5f);
                sum.store(out, 2L * t * hidden);
            }
            sum.finish();
            for (int i = 0; i < tokens * hidden; i++) {
                int bits = channel(x, i);
                int expected = isSpecial(bits) ? 0x7fc0 : bits == 0x8000 ? 0 : bits;
                int got = isSpecial(bits) ? 0x7fc0 : channel(out, i);
                assertThat(got).isEqualTo(expected);
            }
        }
    }

    @Property(tries = 300)
    void copiesAreThoseOfJavaAndWriteNothingElse(@ForAll long seed, @ForAll @IntRange(min = 1, max = 5) int count) {
        Random random = new Random(seed);
        HostMemory x = rows(random, 8, 1024);
        long bytes = random.nextInt(3000);
        long[] from = random.longs(count, 0, x.size() - bytes + 1).toArray();
        long step = random.nextBoolean() ? bytes + random.nextInt(100) : (bytes + 15) / 16 * 16 + 16;
        HostMemory expected = copy(JAVA, x, from, step, bytes, 0);
        for (Rows natively : natives()) {
            for (long total : new long[] {0, LARGE}) {
                assertThat(bytes(copy(natively, x, from, step, bytes, total)))
                        .as(natively.description())
                        .isEqualTo(bytes(expected));
            }
        }
    }

    private static HostMemory copy(Rows how, HostMemory x, long[] from, long step, long bytes, long total) {
        HostMemory out = memory(from.length * step + GUARD);
        RowCopies copies = new RowCopies(how);
        copies.begin(total);
        for (int i = 0; i < from.length; i++) {
            copies.add(out, GUARD / 4 + i * step, x, from[i], bytes);
        }
        copies.finish();
        return out;
    }

    private static byte[] bytes(HostMemory memory) {
        byte[] all = new byte[(int) memory.size()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }

    @Test
    void moreCopiesThanAListHoldsAreAllDone() {
        int count = 10_000;
        HostMemory x = rows(new Random(2), count, 8);
        for (Rows natively : natives()) {
            HostMemory out = memory(x.size());
            RowCopies copies = new RowCopies(natively);
            copies.begin(out.size());
            for (int i = 0; i < count; i++) {
                copies.add(out, 16L * i, x, 16L * i, 16);
            }
            copies.finish();
            assertThat(bytes(out)).isEqualTo(bytes(x));
        }
    }

    @Test
    void whatWasNotFinishedIsForgotten() {
        HostMemory x = rows(new Random(3), 2, 8);
        for (Rows natively : natives()) {
            HostMemory out = memory(32);
            RowCopies copies = new RowCopies(natively);
            copies.begin(16);
            copies.add(out, 0, x, 0, 16);
            copies.begin(16);
            copies.add(out, 16, x, 16, 16);
            copies.finish();
            assertThat(out.getLong(0)).isZero();
            assertThat(out.getLong(16)).isEqualTo(x.getLong(16));
        }
    }

    @Test
    void refusesRangesOutsideTheMemory() {
        HostMemory x = memory(64);
        for (Rows natively : natives()) {
            RowCopies copies = new RowCopies(natively);
            copies.begin(0);
            assertThatThrownBy(() -> copies.add(x, 49, x, 0, 16))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("[49, 49 + 16) is not inside [0, 64)");
            assertThatThrownBy(() -> copies.add(x, 0, x, -16, 16)).isInstanceOf(IndexOutOfBoundsException.class);
            RowSum sum = new RowSum(32, natively);
            sum.clear();
            assertThatThrownBy(() -> sum.store(x, 16)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> new Fp8Rows(64, natively).cast(x, 0, false))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Property(tries = 300)
    void castsHaveTheBitsOfThoseInJava(@ForAll long seed, @ForAll @IntRange(min = 1, max = 100) int units) {
        Random random = new Random(seed);
        int hidden = 8 * units;
        HostMemory x = rows(random, 1, hidden);
        boolean powerOfTwo = random.nextBoolean();
        if (random.nextBoolean()) {
            // Numbers of ordinary size, so that not every scale is one of an infinity.
            for (long i = 0; i < hidden / 2; i++) {
                x.putInt(4 * i, x.getInt(4 * i) & 0xbfffbfff);
            }
        }
        Fp8Rows expected = new Fp8Rows(hidden, JAVA);
        expected.cast(x, 0, powerOfTwo);
        for (Rows natively : natives()) {
            Fp8Rows got = new Fp8Rows(hidden, natively);
            got.cast(x, 0, powerOfTwo);
            assertThat(bytes(got.scales())).as(natively.description()).isEqualTo(bytes(expected.scales()));
            assertThat(bytes(got.codes())).as(natively.description()).isEqualTo(bytes(expected.codes()));
        }
    }

    @Test
    void theFastestVariantOfTheProcessorIsTaken() {
        List<Rows> natives = natives();
        assertThat(Rows.of("auto", 1).description())
                .isEqualTo(natives.get(natives.size() - 1).description())
                .endsWith(" (native)");
        assertThat(Rows.of("java", 1).description()).isEqualTo("java (as ep.host.rows says)");
    }

    @Test
    void refusesAVariantThatIsNotHere() {
        List<RowVariant> here = List.of(RowVariant.BASELINE, RowVariant.AVX2);
        assertThatThrownBy(() -> Rows.choose("avx512", here, 1))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessage("ep.host.rows is avx512, but this processor, or the build, has only baseline, avx2;"
                        + " take one of those, or set it to auto");
        JniLibraryProblem problem = new JniLibraryProblem("there is no library", "build it");
        assertThatThrownBy(() -> Rows.withoutLibrary("baseline", problem))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessage("ep.host.rows is baseline, but there is no library; build it, or set it to auto");
    }

    @Test
    void withoutALibraryRowsAreInJavaAndSayWhy() {
        Rows rows = Rows.withoutLibrary("auto", new JniLibraryProblem("there is no library", "build it"));
        assertThat(rows.isNative()).isFalse();
        assertThat(rows.description()).isEqualTo("java (there is no library; build it)");
        assertThat(rows.streams(Long.MAX_VALUE)).isFalse();
    }

    @Test
    void everyVariantCanBeSet() {
        for (RowVariant variant : RowVariant.values()) {
            assertThat(EpKeys.HOST_ROWS.parser().apply(variant.setting())).isEqualTo(variant.setting());
        }
    }
}
