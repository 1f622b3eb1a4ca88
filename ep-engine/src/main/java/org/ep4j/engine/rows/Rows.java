package org.ep4j.engine.rows;

import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.UnpackedLibrary;

/**
 * Copies, sums and casts rows of the host engine in native code, unless {@link #isNative} is false because of the settings or because
 * there is no library: then the callers do it in Java. All variants give the same bits. Immutable.
 */
public final class Rows {
    private static final String AUTO = "auto";
    private static final String LIBRARY = "jniEp4jRows";
    private static final String OWNER = "ep-engine";
    private static final String PACKAGES = "g++";

    /** Result of loading, once it was tried: JavaCPP reports a failure only once. Guarded by this class. */
    private static Optional<JniLibraryProblem> problem = Optional.empty();

    private static boolean tried;

    private final RowVariant variant;
    private final String description;
    private final String remedy;
    private final long threshold;

    private Rows(RowVariant variant, String description, String remedy, long threshold) {
        this.variant = variant;
        this.description = description;
        this.remedy = remedy;
        this.threshold = threshold;
    }

    private static Rows java(String reason, String remedy) {
        return new Rows(RowVariant.JAVA, RowVariant.JAVA.setting() + " (" + reason + ")", remedy, Long.MAX_VALUE);
    }

    private static Rows nativeRows(RowVariant variant, long threshold) {
        return new Rows(variant, variant.setting() + " (native)", "", threshold);
    }

    /**
     * Returns the rows for {@link EpKeys#HOST_ROWS} and {@link EpKeys#HOST_NON_TEMPORAL_BYTES}.
     *
     * @throws EpUnavailableException when the named variant does not run here, with reason and remedy
     */
    public static Rows of(EpConfig config) {
        String setting = EpKeys.HOST_ROWS.get(config);
        if (setting.equals(RowVariant.JAVA.setting())) {
            return java("as " + EpKeys.HOST_ROWS.name() + " says", "");
        }
        Optional<JniLibraryProblem> problem = problem();
        if (problem.isPresent()) {
            return withoutLibrary(setting, problem.get());
        }
        return choose(setting, natives(), EpKeys.HOST_NON_TEMPORAL_BYTES.get(config));
    }

    static Rows withoutLibrary(String setting, JniLibraryProblem problem) {
        if (!setting.equals(AUTO)) {
            throw refused(setting, problem.message(), problem.remedy());
        }
        return java(problem.message(), problem.remedy());
    }

    /** A native variant that runs here; {@code fused} if it multiplies and adds in one instruction. */
    record Candidate(RowVariant variant, boolean fused) {}

    /** Chooses among the native variants that run here, the fastest last. */
    static Rows choose(String setting, List<Candidate> here, long threshold) {
        if (setting.equals(AUTO)) {
            // Without the instruction, sums with weights are slower than loops of the JVM, which use it if the CPU has
            // it.
            return here.stream()
                    .filter(Candidate::fused)
                    .reduce((slower, faster) -> faster)
                    .map(fastest -> nativeRows(fastest.variant(), threshold))
                    .orElseGet(() -> java(
                            "native code has no fused multiply-add here, since the processor or the compiler that built ep4j lacks it",
                            "where the processor has AVX2, build ep4j again with g++ 9 or newer"));
        }
        return here.stream()
                .filter(v -> v.variant().setting().equals(setting))
                .findFirst()
                .map(v -> nativeRows(v.variant(), threshold))
                .orElseThrow(() -> refused(
                        setting,
                        "this processor and this build of ep4j support only "
                                + here.stream().map(v -> v.variant().setting()).collect(Collectors.joining(", ")),
                        "choose one of these"));
    }

    private static EpUnavailableException refused(String setting, String reason, String remedy) {
        return new EpUnavailableException(
                EpKeys.HOST_ROWS.name() + " is " + setting + ", but " + reason + "; " + remedy + ", or set it to auto");
    }

    /** The native variants that run here, the fastest last; the library is loaded. */
    static List<Candidate> natives() {
        return Arrays.stream(RowVariant.values())
                .filter(v -> v != RowVariant.JAVA && NativeRows.runs(v.number()) != 0)
                .map(v -> new Candidate(v, NativeRows.fused(v.number()) != 0))
                .toList();
    }

    /** Name of the variant and the reason for it, for diagnosis: {@code avx2 (native)}. */
    public String description() {
        return description;
    }

    /** Remedy if {@code auto} has chosen Java because there is no native code; empty otherwise. */
    public String remedy() {
        return remedy;
    }

    /** Returns whether {@link #copy}, {@link #sum} and {@link #cast} may be called. */
    public boolean isNative() {
        return variant != RowVariant.JAVA;
    }

    /**
     * Returns whether a step of an operation is large enough for non-temporal stores. These do not read what they overwrite, a third of a copy's traffic,
     * but leave nothing in the caches. Measured with two ranks, each row of 14,336 bytes copied to four places, after other memory has
     * filled the caches, as weights do between operations: 2 MiB take 0.25 ms with plain stores and 0.19 ms with non-temporal ones on an Intel
     * Xeon (0.36 and 0.37 ms until they are read, too), 0.25 and 0.21 ms on an AMD EPYC (0.30 and 0.35); 8 MiB 1.03 and 0.63 (1.67 and 1.36),
     * 0.92 and 0.81 (1.36 and 1.42); 24 MiB 2.99 and 1.72 (4.96 and 3.67), 2.97 and 2.26 (5.00 and 4.43).
     *
     * @param bytes that the step writes
     */
    public boolean isLarge(long bytes) {
        return bytes > threshold;
    }

    /**
     * Executes a list of copies, three words each: target, source, bytes. They are visible before later stores of this thread.
     *
     * @param nonTemporal true to copy with non-temporal stores
     */
    void copy(RowList list, boolean nonTemporal) {
        try {
            NativeRows.copy(variant.number(), list.address(), list.entries(), nonTemporal ? 1 : 0);
        } finally {
            Reference.reachabilityFence(list);
        }
    }

    /**
     * Executes a list of sums: target, number of rows, 1 for weights or 0, the sources, and with weights as many words with a binary32
     * in the low half. Sums begin at +0, follow the order of the rows and are rounded to BF16 once. Visible as {@link #copy}.
     *
     * @param bytes of a row, a multiple of 16
     * @param nonTemporal true to write sums with non-temporal stores
     */
    public void sum(RowList list, long bytes, boolean nonTemporal) {
        try {
            NativeRows.sum(variant.number(), list.address(), list.entries(), bytes, nonTemporal ? 1 : 0);
        } finally {
            Reference.reachabilityFence(list);
        }
    }

    /**
     * Casts the BF16 row at {@code offset} to E4M3.
     *
     * @param codes gets a byte for each channel
     * @param scales gets a binary32 for each 128 channels, by which codes are multiplied
     * @param channels a multiple of 16
     * @param powerOfTwo true to round scales up to a power of two
     */
    public void cast(
            HostMemory memory,
            long offset,
            HostMemory codes,
            long codesOffset,
            HostMemory scales,
            int channels,
            boolean powerOfTwo) {
        long blocks = (channels + 127L) / 128;
        long row = memory.address(offset, 2L * channels);
        long codesAddress = codes.address(codesOffset, channels);
        long scalesAddress = scales.address(0, 4 * blocks);
        try {
            NativeRows.cast(variant.number(), row, codesAddress, scalesAddress, channels, powerOfTwo ? 1 : 0);
        } finally {
            Reference.reachabilityFence(memory);
            Reference.reachabilityFence(codes);
            Reference.reachabilityFence(scales);
        }
    }

    /** Returns why the library cannot be used; empty if it is loaded. Tries to load it once in a process. */
    static synchronized Optional<JniLibraryProblem> problem() {
        if (!tried) {
            problem = load();
            tried = true;
        }
        return problem;
    }

    private static Optional<JniLibraryProblem> load() {
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            return jna;
        }
        try {
            // JavaCPP itself fails where it is missing or does not know the platform.
            if (!UnpackedLibrary.isBuilt(NativeRows.class, LIBRARY)) {
                return Optional.of(notBuilt());
            }
            UnpackedLibrary.load(NativeRows.class, LIBRARY);
            return Optional.empty();
        } catch (LinkageError | RuntimeException e) {
            return Optional.of(JniLibraryProblem.notLoading(e, OWNER, PACKAGES));
        }
    }

    private static JniLibraryProblem notBuilt() {
        return new JniLibraryProblem(
                OWNER + " was built without its JNI library for this platform",
                "apt-get install " + PACKAGES + ", then build ep4j again (./ep builds it automatically)");
    }
}
