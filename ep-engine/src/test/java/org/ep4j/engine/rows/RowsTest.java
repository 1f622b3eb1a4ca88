package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.ep4j.engine.rows.RowsForTests.bytes;
import static org.ep4j.engine.rows.RowsForTests.channel;
import static org.ep4j.engine.rows.RowsForTests.memory;
import static org.ep4j.engine.rows.RowsForTests.nonTemporal;
import static org.ep4j.engine.rows.RowsForTests.numbers;
import static org.ep4j.engine.rows.RowsForTests.plain;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Native rows against those in Java. */
@Tag("verify")
class RowsTest {
    private static final Rows JAVA = RowsForTests.java();
    private static final int GUARD = 192;

    private static List<Rows> natives() {
        List<Rows> all = new ArrayList<>(plain());
        all.addAll(nonTemporal());
        return all;
    }

    /** A sum: which rows, with which weights (none: without), and whether what is at its place already is the first of them. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Sum(int[] rows, float[] weights, boolean inPlace) {
        static Sum of(Random random, int rows) {
            int[] which = random.ints(random.nextInt(20), 0, rows).toArray();
            boolean inPlace = random.nextInt(3) == 0;
            float[] weights = new float[random.nextBoolean() ? which.length + 1 : 0];
            for (int i = 0; i < weights.length; i++) {
                weights[i] = random.nextBoolean()
                        ? random.nextFloat() * 4 - 2
                        : Float.intBitsToFloat(channel(random) << 16 | random.nextInt(1 << 16));
            }
            return new Sum(which, weights, inPlace);
        }

        private void add(RowSum sum, HostMemory memory, long offset, int index) {
            if (weights.length > 0) {
                sum.add(memory, offset, weights[index]);
            } else {
                sum.add(memory, offset);
            }
        }
    }

    /** Sums of rows of one length whose memory begins at {@code from}, stored one after the other from {@code to} on. */
    private record Sums(int hidden, List<Sum> sums, long to) {
        static Sums of(Random random, int rows, int hidden) {
            List<Sum> sums = new ArrayList<>();
            for (int i = random.nextInt(4); i >= 0; i--) {
                sums.add(Sum.of(random, rows));
            }
            // Words of 4 bytes are what Java can store; most rows are at multiples of 16.
            long to = random.nextInt(4) == 0 ? 4L * random.nextInt(32) : 16L * random.nextInt(8);
            return new Sums(hidden, sums, to);
        }

        byte[] run(Rows rows, HostMemory x, long from, byte[] before) {
            HostMemory out = memory(before.length);
            out.putBytes(0, before, 0, before.length);
            RowSum sum = new RowSum(hidden, rows);
            sum.begin(1);
            for (int s = 0; s < sums.size(); s++) {
                Sum one = sums.get(s);
                long place = to + 2L * s * hidden;
                sum.clear();
                if (one.inPlace) {
                    one.add(sum, out, place, 0);
                }
                for (int i = 0; i < one.rows.length; i++) {
                    one.add(sum, x, from + 2L * one.rows[i] * hidden, i + 1);
                }
                sum.store(out, place);
            }
            try {
                sum.finish();
            } finally {
                Reference.reachabilityFence(x);
            }
            return bytes(out);
        }
    }

    private static void compareSums(Random random, int rows, int hidden) {
        HostMemory x = numbers(random, 2L * rows * hidden);
        Sums sums = Sums.of(random, rows, hidden);
        byte[] before = bytes(numbers(random, 8L * hidden + GUARD));
        byte[] expected = sums.run(JAVA, x, 0, before);
        // Channels may begin anywhere, in a tensor of the caller's for example.
        long shift = 2L * random.nextInt(64);
        HostMemory shifted = memory(x.size() + shift);
        shifted.copy(shift, x, 0, x.size());
        for (Rows variant : natives()) {
            assertThat(sums.run(variant, shifted, shift, before))
                    .as(variant.description())
                    .isEqualTo(expected);
        }
    }

    @Property(tries = 300)
    void sumsHaveTheBitsOfThoseInJava(@ForAll long seed, @ForAll @IntRange(min = 1, max = 60) int units) {
        compareSums(new Random(seed), 12, 16 * units);
    }

    /** Longer than the pieces of the sum in Java. */
    @Property(tries = 8)
    void longSumsHaveTheBitsOfThoseInJava(@ForAll long seed, @ForAll @IntRange(min = 500, max = 1250) int units) {
        compareSums(new Random(seed), 3, 16 * units);
    }

    @Test
    void everyNanOfASumIsTheSame() {
        HostMemory x = memory(64);
        for (int i = 0; i < 32; i++) {
            x.putByte(2L * i, (byte) (0x80 | 2 * i + 1));
            x.putByte(2L * i + 1, (byte) (i % 2 == 0 ? 0x7f : 0xff));
        }
        List<Rows> all = new ArrayList<>(natives());
        all.add(JAVA);
        for (Rows variant : all) {
            for (int count = 1; count <= 3; count++) {
                HostMemory out = memory(64);
                RowSum sum = new RowSum(32, variant);
                sum.begin(1);
                sum.clear();
                for (int i = 0; i < count; i++) {
                    sum.add(x, 0);
                }
                sum.store(out, 0);
                sum.finish();
                for (int i = 0; i < 16; i++) {
                    assertThat(out.getInt(4L * i)).as(variant.description()).isEqualTo(0x7fff7fff);
                }
            }
        }
    }

    @Test
    void moreSumsThanAListHoldsAreAllStored() {
        int tokens = 3000;
        int hidden = 16;
        HostMemory x = numbers(new Random(1), 2L * tokens * hidden);
        for (Rows variant : natives()) {
            HostMemory out = memory(2L * tokens * hidden);
            RowSum sum = new RowSum(hidden, variant);
            sum.begin(tokens);
            for (int t = 0; t < tokens; t++) {
                sum.clear();
                sum.add(x, 2L * t * hidden, 0.5f);
                sum.add(x, 2L * t * hidden, 0.5f);
                sum.store(out, 2L * t * hidden);
            }
            sum.finish();
            for (int i = 0; i < tokens * hidden; i++) {
                int bits = channelAt(x, i);
                boolean nan = (bits & 0x7fff) > 0x7f80;
                assertThat(channelAt(out, i)).isEqualTo(nan ? 0x7fff : bits == 0x8000 ? 0 : bits);
            }
        }
    }

    private static int channelAt(HostMemory memory, long index) {
        return memory.getInt(index / 2 * 4) >>> (16 * (index % 2)) & 0xffff;
    }

    @Test
    void aSumOfMoreRowsThanAListHoldsIsStored() {
        HostMemory x = memory(32);
        for (int i = 0; i < 8; i++) {
            x.putInt(4L * i, 0x3f803f80);
        }
        for (Rows variant : natives()) {
            HostMemory out = memory(64);
            RowSum sum = new RowSum(16, variant);
            sum.begin(1);
            for (int s = 0; s < 2; s++) {
                sum.clear();
                for (int i = 0; i < 16_384; i++) {
                    sum.add(x, 0, 1f);
                }
                sum.store(out, 32L * s);
            }
            sum.finish();
            for (int i = 0; i < 16; i++) {
                assertThat(out.getInt(4L * i)).isEqualTo(0x46804680);
            }
        }
    }

    @Property(tries = 300)
    void copiesAreThoseOfJavaAndWriteNothingElse(@ForAll long seed, @ForAll @IntRange(min = 1, max = 5) int count) {
        compareCopies(new Random(seed), count, 3000);
    }

    @Property(tries = 15)
    void largeCopiesAreThoseOfJavaAndWriteNothingElse(@ForAll long seed) {
        compareCopies(new Random(seed), 2, 300_000);
    }

    private static void compareCopies(Random random, int count, int longest) {
        HostMemory x = numbers(random, 2L * longest);
        long bytes = random.nextInt(longest);
        long[] from = random.longs(count, 0, x.size() - bytes + 1).toArray();
        long step = random.nextBoolean() ? bytes + random.nextInt(100) : (bytes + 15) / 16 * 16 + 16;
        byte[] expected = copy(JAVA, x, from, step, bytes);
        for (Rows variant : natives()) {
            assertThat(copy(variant, x, from, step, bytes))
                    .as(variant.description())
                    .isEqualTo(expected);
        }
    }

    private static byte[] copy(Rows how, HostMemory x, long[] from, long step, long bytes) {
        HostMemory out = memory(from.length * step + GUARD);
        RowCopies copies = new RowCopies(how);
        copies.begin(x.size());
        for (int i = 0; i < from.length; i++) {
            copies.add(out, GUARD / 4 + i * step, x, from[i], bytes);
        }
        try {
            copies.finish();
        } finally {
            Reference.reachabilityFence(x);
        }
        return bytes(out);
    }

    @Test
    void moreCopiesThanAListHoldsAreAllDone() {
        int count = 10_000;
        HostMemory x = numbers(new Random(2), 16L * count);
        for (Rows variant : natives()) {
            HostMemory out = memory(x.size());
            RowCopies copies = new RowCopies(variant);
            copies.begin(x.size());
            for (int i = 0; i < count; i++) {
                copies.add(out, 16L * i, x, 16L * i, 16);
            }
            copies.finish();
            assertThat(bytes(out)).isEqualTo(bytes(x));
        }
    }

    @Test
    void whatWasNotFinishedIsForgotten() {
        HostMemory x = numbers(new Random(3), 32);
        for (Rows variant : natives()) {
            HostMemory out = memory(32);
            RowCopies copies = new RowCopies(variant);
            copies.begin(x.size());
            copies.add(out, 0, x, 0, 16);
            copies.begin(x.size());
            copies.add(out, 16, x, 16, 16);
            copies.finish();
            assertThat(out.getLong(0)).isZero();
            assertThat(out.getLong(16)).isEqualTo(x.getLong(16));
        }
    }

    @Test
    void refusesRangesOutsideTheMemory() {
        HostMemory x = memory(64);
        List<Rows> all = new ArrayList<>(natives());
        all.add(JAVA);
        for (Rows variant : all) {
            RowCopies copies = new RowCopies(variant);
            copies.begin(x.size());
            assertThatThrownBy(() -> copies.add(x, 49, x, 0, 16))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("[49, 49 + 16) is not inside [0, 64)");
            assertThatThrownBy(() -> copies.add(x, 0, x, -16, 16)).isInstanceOf(IndexOutOfBoundsException.class);
            RowSum sum = new RowSum(32, variant);
            sum.clear();
            assertThatThrownBy(() -> sum.store(x, 16)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> new Fp8Rows(64, variant).cast(x, 0, memory(64), 0, false))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void aRowThatIsRefusedIsNoPartOfTheSum() {
        HostMemory x = numbers(new Random(4), 64);
        for (Rows variant : natives()) {
            HostMemory out = memory(64);
            RowSum sum = new RowSum(32, variant);
            sum.begin(1);
            sum.clear();
            assertThatThrownBy(() -> sum.add(x, 2)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> sum.store(out, -2)).isInstanceOf(IndexOutOfBoundsException.class);
            sum.finish();
            assertThat(bytes(out)).containsOnly(0);
            sum.add(x, 0, 1f);
            sum.store(out, 0);
            sum.finish();
            byte[] got = bytes(out);
            sum.clear();
            sum.add(x, 0);
            sum.store(out, 0);
            sum.finish();
            assertThat(bytes(out)).isEqualTo(got);
        }
    }

    @Property(tries = 300)
    void castsHaveTheBitsOfThoseInJava(@ForAll long seed, @ForAll @IntRange(min = 1, max = 60) int units) {
        Random random = new Random(seed);
        int hidden = 16 * units;
        HostMemory x = numbers(random, 2L * hidden);
        boolean powerOfTwo = random.nextBoolean();
        if (random.nextBoolean()) {
            // Numbers of ordinary size, so that not every scale is one of an infinity.
            for (long i = 0; i < hidden / 2; i++) {
                x.putInt(4 * i, x.getInt(4 * i) & 0xbfffbfff);
            }
        }
        long shift = 2L * random.nextInt(64);
        HostMemory shifted = memory(x.size() + shift);
        shifted.copy(shift, x, 0, x.size());
        Fp8Rows expected = new Fp8Rows(hidden, JAVA);
        HostMemory expectedCodes = memory(hidden + GUARD);
        long at = 4L * random.nextInt(GUARD / 4);
        expected.cast(x, 0, expectedCodes, at, powerOfTwo);
        for (Rows variant : plain()) {
            Fp8Rows got = new Fp8Rows(hidden, variant);
            HostMemory codes = memory(hidden + GUARD);
            long to = random.nextInt(GUARD);
            got.cast(shifted, shift, codes, to, powerOfTwo);
            assertThat(bytes(got.scales())).as(variant.description()).isEqualTo(bytes(expected.scales()));
            HostMemory moved = memory(hidden + GUARD);
            moved.copy(to, expectedCodes, at, hidden);
            assertThat(bytes(codes)).as(variant.description()).isEqualTo(bytes(moved));
        }
    }

    @Test
    void onlyWhatIsLargeIsStoredWithNonTemporalStores() {
        String variant = RowsForTests.variants().get(0);
        Rows rows = RowsForTests.of(variant, "64KiB");
        assertThat(rows.isLarge(65_536)).isFalse();
        assertThat(rows.isLarge(65_537)).isTrue();
        assertThat(RowsForTests.of(variant, "0").isLarge(1)).isTrue();
        assertThat(RowsForTests.of(variant, "0").isLarge(0)).isFalse();
    }

    @Test
    void autoTakesTheLastVariantThatMultipliesAndAddsInOneInstruction() {
        RowsForTests.variants();
        Optional<Rows.Candidate> last =
                Rows.natives().stream().filter(Rows.Candidate::fused).reduce((slower, faster) -> faster);
        assertThat(RowsForTests.of("auto", "0").description())
                .startsWith(
                        last.map(v -> v.variant().setting() + " (native)").orElse("java (native code has no fused"));
        assertThat(JAVA.description()).isEqualTo("java (as ep.host.rows says)");
        assertThat(JAVA.remedy()).isEmpty();
    }

    @Test
    void autoTakesNoVariantThatMultipliesAndAddsInTwoSteps() {
        Rows.Candidate slow = new Rows.Candidate(RowVariant.BASELINE, false);
        Rows.Candidate fast = new Rows.Candidate(RowVariant.AVX2, true);
        assertThat(Rows.choose("auto", List.of(slow, fast), 1).description()).isEqualTo("avx2 (native)");
        for (List<Rows.Candidate> here : List.of(List.of(slow), List.<Rows.Candidate>of())) {
            Rows rows = Rows.choose("auto", here, 1);
            assertThat(rows.isNative()).isFalse();
            assertThat(rows.description()).startsWith("java (native code has no fused multiply-add here");
            assertThat(rows.remedy()).contains("g++ 9");
        }
        assertThat(Rows.choose("baseline", List.of(slow), 1).description()).isEqualTo("baseline (native)");
    }

    @Test
    void refusesAVariantThatIsNotHere() {
        List<Rows.Candidate> here =
                List.of(new Rows.Candidate(RowVariant.BASELINE, false), new Rows.Candidate(RowVariant.AVX2, true));
        assertThatThrownBy(() -> Rows.choose("avx512", here, 1))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessage(
                        "ep.host.rows is avx512, but this processor and this build of ep4j support only baseline, avx2;"
                                + " choose one of these, or set it to auto");
        JniLibraryProblem problem = new JniLibraryProblem("there is no library", "build it");
        assertThatThrownBy(() -> Rows.withoutLibrary("baseline", problem))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessage("ep.host.rows is baseline, but there is no library; build it, or set it to auto");
    }

    @Test
    void withoutALibraryRowsAreInJavaAndSayWhy() {
        Rows rows = Rows.withoutLibrary("auto", new JniLibraryProblem("there is no library", "build it"));
        assertThat(rows.isNative()).isFalse();
        assertThat(rows.description()).isEqualTo("java (there is no library)");
        assertThat(rows.remedy()).isEqualTo("build it");
    }

    @Test
    void settingsNameEveryVariantAndNoOther() {
        List<String> values = new ArrayList<>(List.of("auto"));
        for (RowVariant variant : RowVariant.values()) {
            values.add(variant.setting());
        }
        assertThat(EpKeys.HOST_ROWS.format())
                .isEqualTo(ConfigKey.choice("x", "auto", values, "").format());
    }
}
