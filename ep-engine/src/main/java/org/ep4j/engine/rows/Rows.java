package org.ep4j.engine.rows;

import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.memory.JniLibraryProblem;

/**
 * How the host engine copies, sums and casts rows: in native code, or in Java where that is wanted or there is no library. All
 * variants give the same bits. Immutable.
 */
public final class Rows {
    private static final String AUTO = "auto";

    private final RowVariant variant;
    private final String description;
    private final long border;

    private Rows(RowVariant variant, String description, long border) {
        this.variant = variant;
        this.description = description;
        this.border = border;
    }

    /**
     * Rows in Java.
     *
     * @param reason why, for {@link #description}
     */
    private static Rows java(String reason) {
        return new Rows(RowVariant.JAVA, RowVariant.JAVA.setting() + " (" + reason + ")", Long.MAX_VALUE);
    }

    private static Rows nativeRows(RowVariant variant, int threads) {
        return new Rows(
                variant,
                variant.setting() + " (native)",
                LastLevelCache.ofThisProcessor().share(threads));
    }

    /**
     * The rows that a setting asks for.
     *
     * @param setting value of {@link EpKeys#HOST_ROWS}
     * @param threads that copy and sum at the same time on this host, so that they share its caches: one for each rank
     * @throws EpUnavailableException when the named variant does not run here, with the reason and what to do
     */
    public static Rows of(String setting, int threads) {
        if (setting.equals(RowVariant.JAVA.setting())) {
            return java("as " + EpKeys.HOST_ROWS.name() + " says");
        }
        Optional<JniLibraryProblem> problem = RowsLibrary.problem();
        return problem.isPresent() ? withoutLibrary(setting, problem.get()) : choose(setting, natives(), threads);
    }

    static Rows withoutLibrary(String setting, JniLibraryProblem problem) {
        if (!setting.equals(AUTO)) {
            throw refused(setting, problem.message(), problem.remedy());
        }
        return java(problem.message() + "; " + problem.remedy());
    }

    /** Chooses among the native variants that run here, the fastest last. */
    static Rows choose(String setting, List<RowVariant> here, int threads) {
        if (setting.equals(AUTO)) {
            return nativeRows(here.get(here.size() - 1), threads);
        }
        return here.stream()
                .filter(v -> v.setting().equals(setting))
                .findFirst()
                .map(v -> nativeRows(v, threads))
                .orElseThrow(() ->
                        refused(setting, "this processor, or the build, has only " + names(here), "take one of those"));
    }

    private static EpUnavailableException refused(String setting, String reason, String remedy) {
        return new EpUnavailableException(
                EpKeys.HOST_ROWS.name() + " is " + setting + ", but " + reason + "; " + remedy + ", or set it to auto");
    }

    private static String names(List<RowVariant> variants) {
        return variants.stream().map(RowVariant::setting).collect(Collectors.joining(", "));
    }

    /** The native variants that run here, the fastest last; the library is loaded. */
    static List<RowVariant> natives() {
        return Arrays.stream(RowVariant.values())
                .filter(v -> v != RowVariant.JAVA && NativeRows.runs(v.number()) != 0)
                .toList();
    }

    /** Which rows these are, and why, for diagnosis: {@code avx2 (native)}. */
    public String description() {
        return description;
    }

    /** Whether {@link #copy}, {@link #sum} and {@link #cast} may be called. */
    public boolean isNative() {
        return variant != RowVariant.JAVA;
    }

    /**
     * Whether results of so many bytes are stored around the caches. Such stores do not read what they overwrite, a third of a copy's
     * traffic, but leave nothing in the caches. Results larger than this thread's share of the last-level cache would not stay there
     * anyway. Measured for rows of 14,336 bytes by two threads that share 32 MiB: copying and then reading 8 MB takes 0.30 ms with plain
     * stores and 0.49 ms around the caches, 24 MB takes 1.9 and 2.1 ms, 64 MB takes 7.9 and 6.3 ms; copying alone is even at 16 MB.
     */
    public boolean streams(long bytes) {
        return bytes > border;
    }

    /** Copies what a list says, three words each: target, source, bytes. All of it is visible before what this thread stores later. */
    void copy(RowList list, boolean stream) {
        try {
            NativeRows.copy(variant.number(), list.address(), list.entries(), stream ? 1 : 0);
        } finally {
            Reference.reachabilityFence(list);
        }
    }

    /**
     * Sums rows as a list says: target, number of rows, 1 for weights or 0, the sources, and with weights as many words with a binary32 in
     * the low half. Sums begin at +0, follow the order of the rows and are rounded to BF16 once. Visible as {@link #copy}.
     *
     * @param bytes of a row, a multiple of 16
     */
    public void sum(RowList list, long bytes, boolean stream) {
        try {
            NativeRows.sum(variant.number(), list.address(), list.entries(), bytes, stream ? 1 : 0);
        } finally {
            Reference.reachabilityFence(list);
        }
    }

    /**
     * Casts a BF16 row to E4M3.
     *
     * @param row address of the row
     * @param codes gets a byte for each channel
     * @param scales gets a binary32 for each 128 channels, which codes are to be multiplied with
     * @param channels a multiple of 8
     * @param powerOfTwo true to round scales up to a power of two
     */
    public void cast(long row, HostMemory codes, HostMemory scales, int channels, boolean powerOfTwo) {
        long blocks = (channels + 127L) / 128;
        long codesAddress = codes.address(0, channels);
        long scalesAddress = scales.address(0, 4 * blocks);
        try {
            NativeRows.cast(variant.number(), row, codesAddress, scalesAddress, channels, powerOfTwo ? 1 : 0);
        } finally {
            Reference.reachabilityFence(codes);
            Reference.reachabilityFence(scales);
        }
    }
}
