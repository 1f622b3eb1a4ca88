package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Shape;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class TuneCommandTest {
    private static final String MODEL = "--hidden 256 --experts 8 --topk 2 --tokens 16 --ll-tokens 4";
    private static final Shape SHAPE = new Shape(256, 8, 2, 16, 4);

    @TempDir
    private Path folder;

    private Path cache() {
        return folder.resolve("cache");
    }

    private Ran tune(Map<String, String> more, String line) {
        Map<String, String> environment = new HashMap<>(Map.of("EP_CACHE_DIR", cache().toString()));
        environment.putAll(more);
        return Ran.with(new TuneCommand(environment), arguments("tune", line));
    }

    private static String[] arguments(String command, String line) {
        List<String> arguments = new ArrayList<>(List.of(command));
        arguments.addAll(List.of(line.split(" ", -1)));
        return arguments.toArray(String[]::new);
    }

    private List<TunedSettings> kept() {
        List<String> problems = new ArrayList<>();
        List<TunedSettings> kept = TunedSettings.read(cache(), problems::add);
        assertThat(problems).isEmpty();
        return kept;
    }

    /** The times of such small rounds say nothing, so any value may be the best. */
    @Tag("all")
    @Test
    void whatIsMeasuredOnTheHostIsKeptAndPlanned() {
        Path json = folder.resolve("tune.json");
        Ran ran = tune(
                Map.of("EP_TUNE", "off"),
                "--device host --ranks 2 " + MODEL + " --warmup 0 --iterations 2 --turns 3 --seed 7 --json " + json);
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out())
                .contains("ep.host.non-temporal-bytes (default 2MiB)")
                .containsPattern("operation +default us +512KiB +8MiB +32MiB");
        assertThat(ran.err()).contains("tune: ", "(turn ");

        TunedSettings kept = kept().get(0);
        assertThat(kept()).hasSize(1);
        assertThat(kept.shape()).isEqualTo(SHAPE);
        assertThat(kept.fingerprint().device()).isEqualTo("host");
        assertThat(kept.fingerprint().ranks()).isEqualTo(2);
        assertThat(kept.fingerprint().backends()).containsExactly("host-shm");
        assertThat(kept.version()).isEqualTo(EpCommand.version());
        assertThat(kept.measured()).matches("\\d{4}-\\d\\d-\\d\\d");
        assertThat(ran.out().replaceAll("\\s+", " "))
                .contains(
                        "Kept in " + kept.file(cache()) + " for buffers of hidden 256",
                        "for every shape and machine from this folder",
                        "At present nothing that is kept is used, since EP_TUNE is off.");

        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("choices")).hasSize(kept.choices().size());
        JsonNode candidates = root.path("trials").get(0).path("candidates");
        assertThat(candidates).hasSize(3);
        for (JsonNode candidate : candidates) {
            assertThat(candidate.path("rows")).hasSize(9);
            for (JsonNode row : candidate.path("rows")) {
                assertThat(row.path("turnMicros"))
                        .as(row.path("name").asString())
                        .hasSize(3);
            }
        }

        String choice = kept.choices().isEmpty()
                ? "the defaults are best"
                : "ep.host.non-temporal-bytes=" + kept.choices().get(0).value();
        Ran plan = Ran.with(
                new PlanCommand(Map.of("EP_CACHE_DIR", cache().toString())),
                arguments("plan", "--host-device --ranks-per-host 2 " + MODEL + " --set ep.tune=on"));
        assertThat(plan.code()).as(plan.err()).isZero();
        assertThat(plan.out()).contains("Tuned (./ep tune)", choice);
    }

    @Tag("all")
    @Test
    void aDryRunKeepsNothing() {
        Ran ran = tune(
                Map.of("EP_TUNE", "off"),
                "--device host --ranks 1 --mode ht " + MODEL + " --warmup 0 --iterations 1 --turns 3 --dry-run");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out())
                .contains("operation", "Nothing is kept (--dry-run)")
                .doesNotContain("Kept in");
        assertThat(cache()).doesNotExist();
    }

    @Test
    void aBackendThatIsNotThereIsUnavailableAndNothingIsKept() {
        Ran ran = tune(Map.of(), "--device host --backend nothing-here " + MODEL);
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("the defaults: the bench before the first turn ended", "nothing-here");
        assertThat(cache()).doesNotExist();
    }

    @ParameterizedTest
    @CsvSource({
        "--device host, EP_HOST_NON_TEMPORAL_BYTES, 4MiB, ep.host.non-temporal-bytes",
        "--device host --mode ll, EP_HOST_NON_TEMPORAL_BYTES, 2MiB, ep.host.non-temporal-bytes",
        "--device cuda, EP_GPU_SMS, 0, ep.gpu.sms",
        "--device cuda --mode ht, EP_GPU_SMS, 16, ep.gpu.sms",
        "--device cuda --mode ll, EP_GPU_LOW_LATENCY_SMS, 64, ep.gpu.low-latency.sms",
    })
    void aSettingThatHasAValueIsNotTuned(String options, String variable, String value, String setting) {
        Ran ran = tune(Map.of(variable, value), options);
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err())
                .startsWith("ep: " + variable + " is " + value + ", must be left out while " + setting + " is tuned")
                .contains("always wins over a tuned value");
    }

    @Test
    void aSystemPropertyIsNamedAsTheOptionThatGivesIt() {
        String name = "ep.host.non-temporal-bytes";
        System.setProperty(name, "1MiB");
        try {
            assertThat(tune(Map.of(), "--device host").err())
                    .startsWith("ep: -D" + name + " is 1MiB, must be left out");
        } finally {
            System.clearProperty(name);
        }
    }

    @Test
    void aLauncherIsRefused() {
        Map<String, String> torchrun =
                Map.of("RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "29500");
        Ran ran = tune(torchrun, "--device host");
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains("the command is tune", "no launcher (torchrun, mpirun, srun)");
    }

    @Test
    void aFolderThatCannotBeWrittenIsReportedBeforeTheWork() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        Ran ran = tune(Map.of("EP_CACHE_DIR", file.resolve("cache").toString()), "--device host");
        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err())
                .contains(
                        "cannot keep tuned settings in " + file.resolve("cache"), file + " is no folder", "--dry-run");
        Ran none = Ran.with(new TuneCommand(Map.of()), "tune", "--device", "host");
        assertThat(none.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        String why = "the first of EP_CACHE_DIR, XDG_CACHE_HOME and HOME that is set must be the path of a folder";
        assertThat(none.err()).contains(why, "set EP_CACHE_DIR");
        Ran damaged = tune(Map.of("EP_CACHE_DIR", "a\0b"), "--device host");
        assertThat(damaged.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(damaged.err()).contains(why);
    }

    @Test
    void forgetRemovesTheRecordsOfEveryShapeAndNothingElse() throws IOException {
        Fingerprint fingerprint = new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink"));
        new TunedSettings(fingerprint, SHAPE, List.of(), "2026-01-02", "1").write(cache());
        new TunedSettings(fingerprint, new Shape(256, 8, 2, 16, 0), List.of(), "2026-01-02", "1").write(cache());
        Files.writeString(cache().resolve("kernel.bin"), "");
        Ran ran = tune(Map.of(), "--forget");
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out().strip()).isEqualTo("removed 2 files with tuned settings from " + cache());
        try (Stream<Path> left = Files.list(cache())) {
            assertThat(left).containsExactly(cache().resolve("kernel.bin"));
        }
        assertThat(tune(Map.of(), "--forget").out()).startsWith("removed 0 files with tuned settings from ");
        Files.delete(cache().resolve("kernel.bin"));
        Files.delete(cache());
        assertThat(tune(Map.of(), "--forget").out()).startsWith("removed 0 files with tuned settings from ");
    }
}
