package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.ep4j.EpShape;
import org.ep4j.engine.numeric.LogFmt;
import org.ep4j.gpu.cuda.SkipWithoutEmulator;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.ep4j.transport.memory.DeviceAllocation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** LogFMT of the kernels against that of the host: the same layout, codes within a step, values within rounding. */
@Tag("verify")
@ExtendWith(SkipWithoutEmulator.class)
final class LogFmtKernelTest {
    /** Nine whole blocks and a short one: more than a wave codes at a time. */
    private static final int HIDDEN = 9 * 128 + 48;

    private static final int SCALES = 10;
    private static final int ROWS = 16;

    /** Codes a row, a wave's blocks at a time, and decodes it. */
    private static final String KERNEL = """
        EP_KERNEL(log_fmt_test, EP_LANES) {
          EP_SHARED Vec row[EP_HIDDEN / 8], coded[EP_HIDDEN / 8];
          for (int i = lane(); i < EP_HIDDEN / 8; i += EP_LANES) row[i] = ((const Vec*)op.x)[blockIdx.x * (EP_HIDDEN / 8) + i];
          sync_lanes();
          int bytes = 0;
          for (int block = 0; block < EP_SCALES; block += EP_LOG_BLOCKS) {
            const int group = 8 * block + lane();
            const bool inside = group < EP_HIDDEN / 16;
            u32 pairs[8];
            for (int i = 0; i < 8; i++) pairs[i] = inside ? ((const u32*)row)[8 * group + i] : 0x7f807f80;
            const u32 range = log_fmt_range(pairs, inside);
            if (inside && group % 8 == 0) op.ll_counts[blockIdx.x * EP_SCALES + group / 8] = range;
            char* const from = (char*)coded + bytes;
            bytes += log_fmt_encode(range, pairs, inside, from);
            sync_lanes();
            float sums[16] = {0}, weighted[16];
            for (int i = 0; i < 16; i++) weighted[i] = 1;
            log_fmt_add(range, inside, from, 0, false, sums);
            log_fmt_add(range, inside, from, 0.75f, true, weighted);
            for (int i = 0; i < 16; i++) {
              int channel = 128 * block + 16 * lane() + i;
              if (channel < EP_HIDDEN) op.out_scales[blockIdx.x * EP_HIDDEN + channel] = sums[i];
              if (channel < EP_HIDDEN) op.out_weights[blockIdx.x * EP_HIDDEN + channel] = weighted[i];
            }
          }
          for (int i = lane(); i < bytes; i += EP_LANES) op.out[blockIdx.x * 2 * EP_HIDDEN + i] = ((char*)coded)[i];
          if (lane() == 0) op.source_ranks[blockIdx.x] = bytes;
        }
        """;

    private static @Nullable EngineGpu device;
    private static @Nullable GpuModule module;
    private static @Nullable Launcher launcher;

    @BeforeAll
    static void compile() {
        device = EmulatedGpu.open(0);
        EpShape shape = EpShape.builder(HIDDEN, 4, 2).maxLowLatencyTokens(4).build();
        GpuModule loaded = device.load(
                "LogFMT", KernelSource.of(shape, 1, device.info().sharedBytes(), Optional.empty(), Set.of()) + KERNEL);
        module = loaded;
        launcher = new Launcher(device, Map.of("log_fmt_test", loaded));
    }

    @AfterAll
    static void close() {
        if (module != null) {
            module.close();
        }
        if (device != null) {
            device.close();
        }
    }

    private static EngineGpu device() {
        EngineGpu open = device;
        assertThat(open).isNotNull();
        return java.util.Objects.requireNonNull(open);
    }

    /** Blocks of all kinds: coded, large, constant, with zeros, tiny, subnormal, with NaN. */
    private static int[] row(Random random) {
        int[] row = new int[HIDDEN / 2];
        for (int block = 0; block < SCALES; block++) {
            int kind = random.nextInt(8);
            int exponent = kind == 5 ? random.nextInt(127) : 90 + random.nextInt(36);
            int spread = 1 + random.nextInt(kind == 6 ? 2 : 40 * 128);
            for (int i = 128 * block; i < Math.min(HIDDEN, 128 * block + 128); i++) {
                int magnitude = Math.max(0, exponent * 128 + random.nextInt(128) - random.nextInt(spread));
                if (kind == 0) {
                    magnitude = 77 * 128 + 5;
                } else if (kind == 1 && random.nextInt(9) == 0) {
                    magnitude += 30 * 128;
                } else if (kind == 2 && random.nextInt(5) == 0) {
                    magnitude = 0;
                } else if (kind == 3) {
                    magnitude = random.nextInt(300);
                } else if (kind == 4 && i % 100 == 7) {
                    magnitude = 0x7fc0;
                } else if (kind == 6) {
                    magnitude = 120 * 128 + 127 - random.nextInt(2);
                }
                row[i / 2] |= (magnitude | random.nextInt(2) << 15) << (16 * (i & 1));
            }
        }
        return row;
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static ByteBuffer read(DeviceAllocation memory, int bytes) {
        ByteBuffer copy = buffer(bytes);
        device().download(memory.memory().slice(0, bytes), copy);
        return copy.flip();
    }

    @Property(tries = 40, verify = 10)
    void kernelsCodeAsTheHostDoes(@ForAll long seed) {
        Random random = new Random(seed);
        int[][] rows = new int[ROWS][];
        ByteBuffer in = buffer(ROWS * 2 * HIDDEN);
        for (int r = 0; r < ROWS; r++) {
            rows[r] = row(random);
            Arrays.stream(rows[r]).forEach(in::putInt);
        }
        try (DeviceAllocation memory = device().allocate(1 << 20);
                DeviceAllocation x = device().allocate(in.capacity());
                DeviceAllocation coded = device().allocate(in.capacity());
                DeviceAllocation ranges = device().allocate(4L * ROWS * SCALES);
                DeviceAllocation bytes = device().allocate(4L * ROWS);
                DeviceAllocation sums = device().allocate(4L * ROWS * HIDDEN);
                DeviceAllocation weighted = device().allocate(4L * ROWS * HIDDEN)) {
            device().upload(in.flip(), x.memory());
            java.util.Objects.requireNonNull(launcher)
                    .launch(
                            "log_fmt_test",
                            ROWS,
                            device().info().warpSize(),
                            0,
                            0,
                            new Arguments()
                                    .set(Param.LOCAL, memory.memory().address())
                                    .set(Param.X, x.memory().address())
                                    .set(Param.OUT, coded.memory().address())
                                    .set(Param.LL_COUNTS, ranges.memory().address())
                                    .set(Param.SOURCE_RANKS, bytes.memory().address())
                                    .set(Param.OUT_SCALES, sums.memory().address())
                                    .set(Param.OUT_WEIGHTS, weighted.memory().address()),
                            false);
            ByteBuffer gotRanges = read(ranges, 4 * ROWS * SCALES);
            ByteBuffer gotBytes = read(bytes, 4 * ROWS);
            ByteBuffer gotCoded = read(coded, ROWS * 2 * HIDDEN);
            ByteBuffer gotSums = read(sums, 4 * ROWS * HIDDEN);
            ByteBuffer gotWeighted = read(weighted, 4 * ROWS * HIDDEN);
            for (int r = 0; r < ROWS; r++) {
                int[] rowRanges = new int[SCALES];
                for (int s = 0; s < SCALES; s++) {
                    rowRanges[s] = gotRanges.getInt();
                }
                byte[] rowCoded = new byte[2 * HIDDEN];
                gotCoded.get(rowCoded);
                check(rows[r], rowRanges, gotBytes.getInt(), rowCoded, gotSums, gotWeighted);
            }
        }
    }

    private static void check(int[] row, int[] ranges, int bytes, byte[] coded, ByteBuffer sums, ByteBuffer weighted) {
        LogFmt logFmt = new LogFmt(HIDDEN);
        int[] expectedRanges = new int[SCALES];
        byte[] expected = new byte[logFmt.maxBytes()];
        assertThat(bytes).isEqualTo(logFmt.encode(row, expectedRanges, expected));
        assertThat(ranges).isEqualTo(expectedRanges);
        int at = 0;
        for (int block = 0; block < SCALES; block++) {
            int channels = Math.min(128, HIDDEN - 128 * block);
            boolean small = blockBytes(logFmt, ranges, block) < 2 * channels;
            for (int i = 0; i < channels; i++) {
                if (small) {
                    int group = at + i / 16 * 20;
                    int mine = code(coded, group, i % 16);
                    int hosts = code(expected, group, i % 16);
                    assertThat(Math.abs(mine - hosts))
                            .as("code %d for %d", mine, hosts)
                            .isLessThanOrEqualTo(1);
                    assertThat(mine == 0).isEqualTo(hosts == 0);
                    assertThat(sign(coded, group, i % 16)).isEqualTo(sign(expected, group, i % 16));
                } else {
                    assertThat(coded[at + 2 * i]).isEqualTo(expected[at + 2 * i]);
                    assertThat(coded[at + 2 * i + 1]).isEqualTo(expected[at + 2 * i + 1]);
                }
            }
            at += blockBytes(logFmt, ranges, block);
        }
        float[] values = new float[HIDDEN];
        logFmt.decode(ranges, coded, values);
        for (int i = 0; i < HIDDEN; i++) {
            float value = sums.getFloat();
            float sum = weighted.getFloat();
            if (Float.isNaN(values[i])) {
                assertThat(value).isNaN();
                continue;
            }
            // Less than the smallest step, which is 2^-16.4 of a value.
            assertThat(value)
                    .isBetween(
                            values[i] - Math.abs(values[i]) * 0x1p-17f - Float.MIN_VALUE,
                            values[i] + Math.abs(values[i]) * 0x1p-17f + Float.MIN_VALUE);
            assertThat(sum).isEqualTo(Math.fma(0.75f, value, 1f));
        }
    }

    private static int blockBytes(LogFmt logFmt, int[] ranges, int block) {
        int[] upTo = ranges.clone();
        // A constant block is not coded, so that only this one makes a difference.
        Arrays.fill(upTo, 0);
        int plain = logFmt.bytes(upTo);
        upTo[block] = ranges[block];
        return 2 * Math.min(128, HIDDEN - 128 * block) - (plain - logFmt.bytes(upTo));
    }

    private static int code(byte[] coded, int group, int i) {
        int bit = 9 * i;
        int from = group + bit / 8;
        return ((coded[from] & 0xff) | (coded[from + 1] & 0xff) << 8) >> (bit % 8) & 0x1ff;
    }

    private static int sign(byte[] coded, int group, int i) {
        return coded[group + 18 + i / 8] >> (i % 8) & 1;
    }
}
