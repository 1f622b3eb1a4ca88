package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.gpu.cuda.FifoKernels;
import org.ep4j.gpu.cuda.Primitives;
import org.ep4j.gpu.cuda.TestCompilers;
import org.ep4j.gpu.driver.KernelDialect;
import org.ep4j.gpu.driver.PeerOrderingCheck.PeerOrdering;
import org.ep4j.gpu.hip.HipOptions;
import org.ep4j.spi.DeviceCode;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every kernel compiles for every architecture, with no GPU: CUDA through the code of production, HIP with AMD's compiler. */
@Tag("verify")
final class KernelCompileTest {
    /** Shared memory of a block of sm_90, and of sm_86. */
    private static final int LARGE_SHARED = 232_448;

    private static final int SMALL_SHARED = 101_376;

    /** Of gfx90a and gfx942; gfx950 has more. */
    private static final int LDS = 65_536;

    private static final Set<EpPath.Kind> BY_HOST = Set.of(EpPath.Kind.HOST_POSTED);

    private static final int CUDA_MACHINE = 190;
    private static final int AMD_MACHINE = 224;
    private static final Pattern KERNEL = Pattern.compile("^EP_KERNEL(?:_BESIDE)?\\((\\w+),", Pattern.MULTILINE);

    @TempDir
    Path work;

    private static Map<String, List<String>> sources(String architecture) {
        return architecture.startsWith("gfx") ? sources(LDS, LDS) : sources(LARGE_SHARED, SMALL_SHARED);
    }

    private static Map<String, List<String>> sources(int most, int least) {
        Map<String, List<String>> sources = new TreeMap<>();
        sources.put("primitives", List.of(Primitives.SOURCE));
        EpShape large = EpShape.builder(7168, 256, 8)
                .maxTokens(4096)
                .maxLowLatencyTokens(128)
                .build();
        sources.put("large", mapped(large, 8, most));
        sources.put("large-posted", posted(large, 8, most, 4));
        EpShape odd =
                EpShape.builder(128, 7, 3).maxTokens(5).maxLowLatencyTokens(3).build();
        sources.put("odd", mapped(odd, 3, least));
        sources.put("odd-posted", posted(odd, 3, least, 2));
        sources.put(
                "rows-posted", posted(EpShape.builder(128, 7, 3).maxTokens(5).build(), 3, least, 2));
        sources.put(
                "one-rank",
                mapped(
                        EpShape.builder(256, 4, 4)
                                .maxTokens(16)
                                .maxLowLatencyTokens(16)
                                .build(),
                        1,
                        most));
        EpShape small = EpShape.builder(128, 7, 3).maxLowLatencyTokens(3).build();
        sources.put("messages-posted", posted(small, 3, least, 2));
        sources.put("relayed", relayed(3, least));
        sources.put(
                "proxies",
                List.of(KernelSource.of(small, 3, least, Optional.empty(), Set.of()) + FifoKernels.OF_THE_ENGINE));
        sources.put("fifo", List.of(KernelSource.parts("fifo.cu") + FifoKernels.ALONE));
        sources.put("ordering", List.of(PeerOrdering.source()));
        return sources;
    }

    private static List<String> mapped(EpShape shape, int ranks, int sharedBytes) {
        return KernelSource.units(shape, ranks, sharedBytes, Optional.empty(), Set.of());
    }

    /** With peers that are not mapped. */
    private static List<String> posted(EpShape shape, int ranks, int sharedBytes, int channels) {
        return KernelSource.units(
                shape, ranks, sharedBytes, Optional.of(WindowLayout.of(shape, ranks, channels, false)), BY_HOST);
    }

    /** With ranks that relay rows of others. */
    private static List<String> relayed(int ranks, int sharedBytes) {
        EpShape shape = EpShape.builder(128, 7, 3).maxTokens(5).build();
        return KernelSource.units(
                shape, ranks, sharedBytes, Optional.of(WindowLayout.of(shape, ranks, ranks - 1, true)), BY_HOST);
    }

    /**
     * Compiling takes seconds: the small shapes are compiled for the second architecture only. The tier "verify" has one architecture of
     * each vendor, and for it the named sources; each source is compiled for one vendor at least.
     */
    static Stream<Arguments> on(List<String> architectures, Set<String> some) {
        return sources(LDS, LDS).keySet().stream()
                .flatMap(name -> architectures.stream()
                        .filter(architecture -> Tier.all()
                                ? List.of("primitives", "large", "large-posted").contains(name)
                                        || architecture.equals(architectures.get(1))
                                : some.contains(name) && architecture.equals(architectures.get(1)))
                        .map(architecture -> Arguments.of(name, architecture)));
    }

    static Stream<Arguments> cuda() {
        return on(
                List.of("sm_80", "sm_90", "sm_100"),
                Set.of("primitives", "large", "odd-posted", "relayed", "fifo", "ordering"));
    }

    static Stream<Arguments> hip() {
        return on(
                HipOptions.architectures(),
                Set.of(
                        "primitives",
                        "large-posted",
                        "odd",
                        "rows-posted",
                        "messages-posted",
                        "one-rank",
                        "proxies",
                        "ordering"));
    }

    @ParameterizedTest(name = "{0} for {1}")
    @MethodSource("cuda")
    void cudaKernelsCompileByNvrtc(String name, String architecture) {
        assertHolds(
                compiled(name, architecture, source -> TestCompilers.cuda(name, source, architecture), CUDA_MACHINE),
                kernels(name, architecture));
    }

    /** What backends define, see {@link org.ep4j.spi.DevicePosted}; the linker would find it. */
    private static final String POSTED_BY_DEVICE = """
        extern __device__ void ep_posted_put_wave(char* to, const char* from, unsigned long long bytes, int peer);
        extern __device__ void ep_posted_put_message_wave(char* to, const char* from, unsigned long long bytes, int peer);
        extern __device__ void ep_posted_put_signal_wave(char* to, const char* from, unsigned long long bytes,
            unsigned long long* counter, unsigned long long value, int peer);
        extern __device__ void ep_posted_signal(unsigned long long* counter, unsigned long long value, int peer);
        extern __device__ void ep_posted_quiet();
        """;

    @Tag("all")
    @ParameterizedTest(name = "{0} tokens and {1} of low latency for {2}, with host threads {3}")
    @CsvSource({
        "5, 3, sm_80, false",
        "5, 0, sm_90, false",
        "0, 3, sm_90, false",
        "5, 3, sm_100, false",
        "5, 3, sm_90, true"
    })
    void kernelsThatPostByThemselvesCompile(int tokens, int lowLatencyTokens, String architecture, boolean threads) {
        EpShape shape = EpShape.builder(128, 7, 3)
                .maxTokens(tokens)
                .maxLowLatencyTokens(lowLatencyTokens)
                .build();
        // Of three ranks two may map each other.
        boolean relays = tokens > 0;
        Set<EpPath.Kind> kinds = threads
                ? Set.of(EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED)
                : Set.of(EpPath.Kind.DEVICE_POSTED);
        String source =
                KernelSource.of(shape, 3, SMALL_SHARED, Optional.of(WindowLayout.of(shape, 3, 2, relays)), kinds);
        DeviceCode code = DeviceCode.builder("declarations", POSTED_BY_DEVICE).build();
        byte[] object = TestCompilers.cudaObject("posted by device", source, code, architecture);
        assertThat(machine(object)).isEqualTo(CUDA_MACHINE);
        String text = new String(object, StandardCharsets.ISO_8859_1);
        assertThat(text).contains("ep_posted_signal", "ep_posted_put", "library_put", "library_signal");
        assertThat(source).contains("#define EP_DEVICE_POSTED 1", "#define EP_HOST_POSTED " + (threads ? 1 : 0));
    }

    @Tag("all")
    @ParameterizedTest(name = "{0} for {1}")
    @CsvSource({"primitives, sm_80", "primitives, sm_90", "large, sm_90", "large-posted, sm_90"})
    void cudaKernelsCompileByNvccWhereItIsInstalled(String name, String architecture)
            throws IOException, InterruptedException {
        String text = "";
        for (String source : sources(architecture).get(name)) {
            Optional<byte[]> code = TestCompilers.nvcc(work, name, KernelDialect.CUDA.before(source), architecture);
            if (code.isEmpty()) {
                System.out.println("skipped: no nvcc on the path");
            }
            assumeTrue(code.isPresent(), "no nvcc on the path");
            text += new String(code.get(), StandardCharsets.ISO_8859_1);
        }
        assertHolds(text, kernels(name, architecture));
    }

    @ParameterizedTest(name = "{0} for {1}")
    @MethodSource("hip")
    void hipKernelsCompileByClang(String name, String architecture) {
        String text = compiled(
                name,
                architecture,
                source -> TestCompilers.hip(work, name, KernelDialect.HIP.before(source), architecture),
                AMD_MACHINE);
        List<String> names = kernels(name, architecture);
        assertHolds(text, names);
        // Of every kernel, in the metadata: a text in MessagePack, and after it the number.
        assertThat(text.split("\\.wavefront_size", -1))
                .as("wavefronts of 64 lanes")
                .hasSize(names.size() + 1)
                .satisfies(parts -> assertThat(Arrays.stream(parts).skip(1)).allMatch(part -> part.charAt(0) == 64));
    }

    static Stream<String> amd() {
        return HipOptions.architectures().stream();
    }

    /** {@code buffer_wbl2} writes the second-level cache back; {@code s_waitcnt vmcnt(0)} waits for what a wave has loaded and stored. */
    @ParameterizedTest
    @MethodSource("amd")
    void relaxedStoresPublishWithoutWritingCachesBack(String architecture) {
        String kernel = """
            struct Op { Vec* data; u64* counter; u64 number; };
            EP_KERNEL(publish, 256) {
              store_once(op.data + threadIdx.x, Vec{1, 2, 3, 4});
              sync_block();
              if (threadIdx.x == 0) store_published(op.counter, op.number);
            }
            """;
        String released = TestCompilers.hipAssembly(work, "released", KernelDialect.HIP.before(kernel), architecture);
        assertThat(released).contains("buffer_wbl2", "s_barrier");
        String relaxed = TestCompilers.hipAssembly(
                work, "relaxed", KernelDialect.HIP.before(HipOptions.relaxedStores(), kernel), architecture);
        assertThat(relaxed)
                .doesNotContain("buffer_wbl2")
                .matches("(?s).*_store_dwordx4 .*s_waitcnt vmcnt\\(0\\).*s_barrier.*_store_dwordx2 .*");
    }

    @Tag("all")
    @ParameterizedTest
    @MethodSource("amd")
    void kernelsWithRelaxedStoresWriteCachesBackLessOften(String architecture) {
        long released = writeBacks(architecture, "");
        long relaxed = writeBacks(architecture, HipOptions.relaxedStores());
        System.out.println(architecture + ": " + released + " write-backs, relaxed " + relaxed);
        assertThat(relaxed).isLessThan(released);
    }

    private long writeBacks(String architecture, String macros) {
        return sources(architecture).get("large").stream()
                .map(source -> TestCompilers.hipAssembly(
                        work, "large", KernelDialect.HIP.before(macros, source), architecture))
                .flatMap(String::lines)
                .filter(line -> line.contains("buffer_wbl2"))
                .count();
    }

    /** Returns the code of all sources, one after the other. */
    private static String compiled(String name, String architecture, Function<String, byte[]> compiler, int machine) {
        StringBuilder text = new StringBuilder();
        for (String source : sources(architecture).get(name)) {
            byte[] code = compiler.apply(source);
            assertThat(machine(code)).isEqualTo(machine);
            text.append(new String(code, StandardCharsets.ISO_8859_1));
        }
        return text.toString();
    }

    /** Names of the kernels; the primitives have one for bulk copies and one for E4M3, which are not everywhere. */
    private static List<String> kernels(String name, String architecture) {
        List<String> names = sources(architecture).get(name).stream()
                .flatMap(source -> KERNEL.matcher(source).results())
                .map(found -> found.group(1))
                .toList();
        assertThat(names).isNotEmpty();
        return name.equals("primitives") && !List.of("sm_90", "sm_100").contains(architecture)
                ? List.of("primitives")
                : names;
    }

    private static void assertHolds(String text, List<String> names) {
        assertThat(names)
                .allSatisfy(name ->
                        assertThat(text.contains("\0" + name + "\0")).as(name).isTrue());
        // Functions of a transport that no path has are not compiled.
        assertThat(text).doesNotContain("library_put", "library_signal", "library_quiet");
    }

    private static int machine(byte[] elf) {
        return ByteBuffer.wrap(elf).order(ByteOrder.LITTLE_ENDIAN).getShort(18);
    }
}
