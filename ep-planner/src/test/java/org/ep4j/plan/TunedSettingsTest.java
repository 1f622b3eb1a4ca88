package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class TunedSettingsTest {
    private static final Fingerprint GPUS = new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink"));

    private static final Fingerprint HOST = new Fingerprint(
            "host", "AMD EPYC 9654: 96 cores # \u00b5\\", 16, 4, 2, 2, List.of("host-shm", "ibrc-multiqp"));

    private static final Shape BOTH = new Shape(7168, 256, 8, 4096, 128);

    @TempDir
    private Path folder;

    private final List<String> problems = new ArrayList<>();

    private static TunedSettings sms(Shape shape, int multiprocessors) {
        return new TunedSettings(
                GPUS,
                shape,
                List.of(new Choice(
                        "ep.gpu.sms", Integer.toString(multiprocessors), "ht.combine, 4096 tokens: 221.9 -> 211.4 us")),
                "2026-05-04",
                "0.1.0");
    }

    private List<TunedSettings> read() {
        return TunedSettings.read(folder, problems::add);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    @Test
    void whatIsWrittenIsRead() {
        TunedSettings gpus = new TunedSettings(
                GPUS,
                BOTH,
                List.of(
                        new Choice("ep.gpu.sms", "32", "ht.combine, 4096 tokens: 221.9 -> 211.4 us"),
                        new Choice("ep.gpu.low-latency.sms", "66", "")),
                "2026-05-04",
                "0.1.0-SNAPSHOT");
        TunedSettings host = new TunedSettings(
                HOST,
                new Shape(64, 1, 1, 0, 1),
                List.of(new Choice("ep.host.non-temporal-bytes", "8MiB", " = 1.5 \u00b5s,\n\ttwice \\ \"fast\" #!:")),
                "",
                "");
        for (TunedSettings settings : List.of(gpus, host)) {
            Path file = settings.write(folder.resolve("deep/er"));
            assertThat(file).isEqualTo(settings.file(folder.resolve("deep/er"))).isRegularFile();
        }
        assertThat(TunedSettings.read(folder.resolve("deep/er"), problems::add)).containsExactlyInAnyOrder(gpus, host);
        assertThat(problems).isEmpty();
        assertThat(gpus.settings())
                .containsExactly(Map.entry("ep.gpu.sms", "32"), Map.entry("ep.gpu.low-latency.sms", "66"));
    }

    @Test
    void aFileWithoutChoicesIsRead() {
        TunedSettings defaults = new TunedSettings(GPUS, BOTH, List.of(), "2026-05-04", "0.1.0");
        defaults.write(folder);
        assertThat(read()).containsExactly(defaults);
        assertThat(defaults.settings()).isEmpty();
        assertThat(problems).isEmpty();
    }

    @Test
    void aFileIsForPeopleToReadAndAlwaysTheSame() throws IOException {
        Path file = sms(BOTH, 32).write(folder);
        assertThat(file.getFileName().toString()).matches("tuned-[0-9a-f]{16}\\.properties");
        String text = Files.readString(file);
        assertThat(text).startsWith("# Settings that ./ep tune has measured");
        assertThat(text.lines().filter(line -> !line.startsWith("#")))
                .isSorted()
                .contains("ep.gpu.sms=32", "format=1", "settings=ep.gpu.sms", "shape.top-k=8");
        assertThat(sms(BOTH, 32).write(folder)).hasContent(text);
    }

    @Test
    void twoShapesAndTwoMachinesAreSideBySide() throws IOException {
        TunedSettings one = sms(BOTH, 32);
        List<TunedSettings> all = List.of(
                one,
                sms(new Shape(7168, 256, 8, 4096, 0), 16),
                sms(new Shape(7168, 256, 8, 0, 4096), 20),
                new TunedSettings(HOST, BOTH, List.of(), "", ""));
        all.forEach(settings -> settings.write(folder));
        List<TunedSettings> found = read();
        assertThat(found).containsExactlyInAnyOrderElementsOf(all);
        assertThat(found.stream().map(settings -> settings.file(folder))).containsExactlyElementsOf(files());
        assertThat(problems).isEmpty();
    }

    @Test
    void allAreRemovedAtOnceAndOtherFilesRemain() throws IOException {
        sms(BOTH, 32).write(folder);
        new TunedSettings(HOST, BOTH, List.of(), "", "").write(folder);
        Files.writeString(folder.resolve("tuned-1.properties"), "this is none", StandardCharsets.UTF_8);
        Path kernel = Files.writeString(folder.resolve("0123456789abcdef.bin"), "code", StandardCharsets.UTF_8);
        assertThat(TunedSettings.removeAll(folder)).isEqualTo(3);
        assertThat(files()).containsExactly(kernel);
        assertThat(TunedSettings.removeAll(folder)).as("again").isZero();
    }

    @Test
    void aFileThatCannotBeRemovedIsReported() throws IOException {
        Files.createDirectories(sms(BOTH, 32).file(folder).resolve("below"));
        assertThatThrownBy(() -> TunedSettings.removeAll(folder))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("tuned settings in " + folder, "remove tuned-*.properties there yourself");
    }

    @Test
    void everyFieldOfShapeAndFingerprintChangesTheFileName() {
        List<TunedSettings> all = new ArrayList<>();
        for (Shape shape : List.of(
                BOTH,
                new Shape(7184, 256, 8, 4096, 128),
                new Shape(7168, 255, 8, 4096, 128),
                new Shape(7168, 256, 9, 4096, 128),
                new Shape(7168, 256, 8, 4095, 128),
                new Shape(7168, 256, 8, 4096, 127))) {
            all.add(sms(shape, 32));
        }
        List<String> ipc = GPUS.backends();
        for (Fingerprint other : List.of(
                new Fingerprint("hip", "sm_90", 132, 2, 1, 2, ipc),
                new Fingerprint("cuda", "sm_80", 132, 2, 1, 2, ipc),
                new Fingerprint("cuda", "sm_90", 131, 2, 1, 2, ipc),
                new Fingerprint("cuda", "sm_90", 132, 3, 1, 2, ipc),
                new Fingerprint("cuda", "sm_90", 132, 2, 2, 2, ipc),
                new Fingerprint("cuda", "sm_90", 132, 2, 1, 1, ipc),
                new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("efa", "ipc-nvlink")))) {
            all.add(new TunedSettings(other, BOTH, List.of(), "", ""));
        }
        assertThat(all).extracting(settings -> settings.file(folder)).doesNotHaveDuplicates();
        assertThat(new TunedSettings(GPUS, BOTH, List.of(), "another day", "0.2.0").file(folder))
                .as("choices, date and version do not matter")
                .isEqualTo(sms(BOTH, 32).file(folder));
    }

    @Test
    void anotherMeasurementReplacesTheFileWhole() throws IOException {
        Path file = sms(BOTH, 32).write(folder);
        String before = Files.readString(file);
        Path link = Files.createLink(folder.resolve("before"), file);

        sms(BOTH, 48).write(folder);

        assertThat(read()).containsExactly(sms(BOTH, 48));
        assertThat(link).as("a process that has the old file open").hasContent(before);
        assertThat(files()).as("nothing else is left").containsExactlyInAnyOrder(link, file);
    }

    @Test
    void filesOfOtherNamesAreNotRead() throws IOException {
        Files.writeString(folder.resolve("0123456789abcdef.bin"), "code", StandardCharsets.UTF_8);
        Files.writeString(folder.resolve("tuned-1.tmp"), "half a fi", StandardCharsets.UTF_8);
        assertThat(read()).isEmpty();
        assertThat(problems).isEmpty();
    }

    @Test
    void aFolderThatIsMissingIsEmpty() {
        assertThat(TunedSettings.read(folder.resolve("none"), problems::add)).isEmpty();
        assertThat(problems).isEmpty();
        assertThat(TunedSettings.removeAll(folder.resolve("none"))).isZero();
    }

    @Test
    void aFolderMayBeALink() throws IOException {
        Files.createDirectory(folder.resolve("real"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), Path.of("real"));
        sms(BOTH, 32).write(link);
        assertThat(TunedSettings.read(folder.resolve("real"), problems::add)).containsExactly(sms(BOTH, 32));
    }

    @Test
    void aFileInPlaceOfTheFolderIsReported() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "no folder", StandardCharsets.UTF_8);
        assertThat(TunedSettings.read(file, problems::add)).isEmpty();
        assertThat(problems).singleElement().asString().contains(file.toString(), "EP_CACHE_DIR");
        for (Path place : List.of(file, file.resolve("below"))) {
            assertThatThrownBy(() -> sms(BOTH, 32).write(place))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContainingAll("tuned settings in " + place, "EP_CACHE_DIR")
                    .hasCauseInstanceOf(IOException.class)
                    .extracting(e -> ((EpException) e).recourse())
                    .isEqualTo(EpException.Recourse.INSTALL);
        }
        assertThatThrownBy(() -> TunedSettings.removeAll(file))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("tuned settings in " + file);
        assertThat(file).hasContent("no folder");
    }

    @Test
    void aFailedWriteLeavesNothing() throws IOException {
        Path taken = Files.createDirectories(sms(BOTH, 32).file(folder).resolve("below"));
        assertThatThrownBy(() -> sms(BOTH, 32).write(folder)).isInstanceOf(EpUnavailableException.class);
        assertThat(files()).containsExactly(taken.getParent());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "format=1 | format=2 | format is \"2\", must be 1",
                "format=1 | old=1 | format is missing",
                "shape.hidden=7168 | shape.hidden=many | shape.hidden is \"many\", must be a number from 0",
                "shape.hidden=7168 | shape.hidden=-1 | shape.hidden is \"-1\"",
                "shape.experts=256 | | shape.experts is missing",
                "fingerprint.ranks=2 | fingerprint.ranks=9999999999 | fingerprint.ranks is \"9999999999\"",
                "ep.gpu.sms=32 | ep.gpu.sms=many | ep.gpu.sms is \"many\", must be an integer from 0 to 4096",
                "ep.gpu.sms=32 | ep.gpu.sms=4097 | ep.gpu.sms is \"4097\", must be an integer from 0 to 4096",
                "ep.gpu.sms | ep.gpu.window | \"ep.gpu.window\" is no setting that ./ep tune chooses",
                "settings=ep.gpu.sms | settings=ep.gpu.sms,ep.gpu.sms | must name each setting once",
                "settings=ep.gpu.sms | settings=ep.gpu.low-latency.sms | ep.gpu.low-latency.sms is missing",
                "ep.gpu.sms.reason | ep.gpu.sms.why | ep.gpu.sms.reason is missing",
                "version=0.1.0 | | version is missing",
                "shape.top-k=8 | shape.top-k=4 | its fingerprint and shape belong to a file named tuned-",
                "version=0.1.0 | version=\\u00zz | Malformed"
            })
    void aFileThatWasChangedIsLeftOutAndReported(String before, String after, String problem) throws IOException {
        Path file = sms(BOTH, 32).write(folder);
        TunedSettings other = sms(new Shape(64, 4, 2, 16, 0), 8);
        other.write(folder);
        String text = Files.readString(file);
        assertThat(text).contains(before);
        Files.writeString(file, text.replace(before, after == null ? "" : after), StandardCharsets.UTF_8);

        assertThat(read()).containsExactly(other);
        assertThat(problems).singleElement().asString().contains(file.toString(), problem, "./ep tune");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.1, 0.5, 0.9})
    void aFileThatWasCutIsLeftOutAndReported(double part) throws IOException {
        Path file = sms(BOTH, 32).write(folder);
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(bytes, (int) (part * bytes.length)));
        assertThat(read()).isEmpty();
        assertThat(problems).singleElement().asString().contains(file.toString());
    }

    @Test
    void aFileThatIsNoTextIsLeftOutAndReported() throws IOException {
        Path file = sms(BOTH, 32).write(folder);
        Files.write(file, new byte[] {'f', '=', (byte) 0xff, (byte) 0xfe});
        Path directory = Files.createDirectory(folder.resolve("tuned-directory.properties"));
        assertThat(read()).isEmpty();
        assertThat(problems)
                .hasSize(2)
                .anyMatch(text -> text.contains(file.toString()))
                .anyMatch(text -> text.contains(directory.toString()));
    }

    @Test
    void aRenamedFileIsLeftOut() throws IOException {
        Path file = sms(BOTH, 32).write(folder);
        Path copy = Files.copy(file, folder.resolve("tuned-copy.properties"));
        assertThat(read()).containsExactly(sms(BOTH, 32));
        assertThat(problems).singleElement().asString().contains(copy.toString(), String.valueOf(file.getFileName()));
    }

    @Test
    void onlyTunableSettingsWithGoodValuesCanBeChosen() {
        assertThat(TunedSettings.TUNABLE.keySet())
                .containsExactly("ep.gpu.low-latency.sms", "ep.gpu.sms", "ep.host.non-temporal-bytes");
        assertThat(TunedSettings.TUNABLE.values())
                .as("a rank may choose them alone")
                .noneMatch(key -> key.agreed());
        assertThatThrownBy(() -> new Choice("ep.lanes", "4", ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("ep.lanes", "ep.gpu.sms");
        assertThatThrownBy(() -> new Choice("ep.host.non-temporal-bytes", "big", ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ep.host.non-temporal-bytes is \"big\", must be a number of bytes");
        Choice choice = new Choice("ep.gpu.sms", "16", "");
        assertThatThrownBy(() -> new TunedSettings(GPUS, BOTH, List.of(choice, choice), "", ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("each setting once");
    }

    @Test
    void aShapeHasTheSizesOfABuffer() {
        EpShape shape = EpShape.builder(7168, 256, 8)
                .maxTokens(4096)
                .maxReceivedRows(1000)
                .maxLowLatencyTokens(128)
                .build();
        assertThat(Shape.of(shape)).isEqualTo(BOTH);
    }

    @Test
    void aShapeIsNamedByItsSizes() {
        assertThat(BOTH.text()).isEqualTo("hidden 7168, 256 experts, top-8, 4096 tokens, 128 low-latency tokens");
        assertThat(new Shape(7168, 256, 8, 4096, 0).text()).isEqualTo("hidden 7168, 256 experts, top-8, 4096 tokens");
        assertThat(new Shape(16, 1, 1, 0, 1).text()).isEqualTo("hidden 16, 1 expert, top-1, 1 low-latency token");
    }

    @Test
    void aReaderSeesOldOrNewWhileAFileIsReplaced() throws IOException, InterruptedException {
        TunedSettings one = sms(BOTH, 32);
        TunedSettings two = sms(BOTH, 48);
        List<String> whole = new ArrayList<>();
        for (TunedSettings settings : List.of(two, one)) {
            whole.add(Files.readString(settings.write(folder)));
        }
        Path file = one.file(folder);
        Thread writer = new Thread(
                () -> IntStream.range(0, 200).forEach(i -> (i % 2 == 0 ? two : one).write(folder)), "writer");
        writer.start();
        try {
            do {
                assertThat(Files.readString(file)).isIn(whole);
            } while (writer.isAlive());
        } finally {
            writer.join();
        }
        assertThat(read()).containsExactly(one);
        assertThat(problems).isEmpty();
    }
}
