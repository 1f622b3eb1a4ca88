package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.logging.Level;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings that {@code ./ep tune} has kept in a file, and the buffers that use them. */
@Tag("verify")
final class TuningTest {
    private static final EpShape SHAPE =
            EpShape.builder(64, 8, 2).maxTokens(8).maxLowLatencyTokens(4).build();
    private static final TunedSettings.Shape SIZES = TunedSettings.Shape.of(SHAPE);
    private static final String NON_TEMPORAL = EpKeys.HOST_NON_TEMPORAL_BYTES.name();
    private static final Choice EIGHT_MIB = new Choice(NON_TEMPORAL, "8MiB", "ht.combine, 8 tokens: 20.0 -> 10.0 us");
    private static final long MIB = 1L << 20;
    private static final String DATE = "2026-11-30";

    /** Beginning of a note on {@link #SHAPE}. */
    private static final String TUNED = "tuned for buffers of " + SIZES.text() + " (" + DATE + "): ";

    private final HostDevice device = new HostDevice();
    private final GroupPlan plan = HostPlans.mapped(2);
    private final LogCapture log = new LogCapture("org.ep4j", Level.INFO);

    @TempDir
    private Path folder;

    @AfterEach
    void close() {
        log.close();
        device.close();
    }

    private static TunedSettings measured(Fingerprint fingerprint, Choice... choices) {
        return new TunedSettings(fingerprint, SIZES, List.of(choices), DATE, "test");
    }

    /** Keeps what was measured for {@link #SHAPE} in a group such as {@link #plan}. */
    private Path keep(Choice... choices) {
        return measured(Fingerprint.ofHost(plan, 0), choices).write(folder);
    }

    /** A configuration that no setting of this process reaches. */
    private static EpConfig.Builder config() {
        return EpConfig.builder(Map.of(), Map.of());
    }

    private Tuning tuning(EpConfig config) {
        return Tuning.of(config, plan, 0, device, Map.of("EP_CACHE_DIR", folder.toString()));
    }

    private static void isUntuned(Tuning tuning) {
        EpConfig config = tuning.config(SHAPE);
        assertThat(tuning.notes()).isEmpty();
        assertThat(config.names(Origin.TUNED)).isEmpty();
        assertThat(EpKeys.HOST_NON_TEMPORAL_BYTES.get(config)).isEqualTo(2 * MIB);
    }

    @Test
    void aBufferOfAMeasuredShapeUsesWhatWasMeasured() {
        Path file = keep(EIGHT_MIB);
        Tuning tuning = tuning(config().build());
        assertThat(tuning.notes()).containsExactly(TUNED + NON_TEMPORAL + "=8MiB (" + EIGHT_MIB.reason() + ")");
        EpConfig config = tuning.config(SHAPE);
        assertThat(EpKeys.HOST_NON_TEMPORAL_BYTES.get(config)).isEqualTo(8 * MIB);
        assertThat(EpKeys.HOST_NON_TEMPORAL_BYTES.setting(config).source()).isEqualTo(file.toString());
    }

    @Test
    void aBufferOfAnotherShapeUsesNothingThatWasMeasured() {
        keep(EIGHT_MIB);
        Tuning tuning = tuning(config().build());
        for (EpShape other : List.of(
                SHAPE.toBuilder().maxTokens(9).build(),
                SHAPE.toBuilder().maxLowLatencyTokens(0).build())) {
            assertThat(tuning.config(other).names(Origin.TUNED)).as("%s", other).isEmpty();
        }
        assertThat(log.withLevels(folder.toString())).isEmpty();
    }

    @Test
    void whatAnotherGroupMeasuredIsNotUsed() {
        Fingerprint here = Fingerprint.ofHost(plan, 0);
        Fingerprint other = new Fingerprint(
                here.device(),
                here.model(),
                here.processors(),
                here.ranks() + 1,
                here.hosts(),
                here.devices(),
                here.backends());
        measured(other, EIGHT_MIB).write(folder);
        isUntuned(tuning(config().build()));
    }

    @Test
    void aSettingOfTheUserCountsAndTheNoteSaysSo() {
        keep(EIGHT_MIB);
        Map<String, EpConfig> byNote = Map.of(
                "the program sets 1MiB",
                config().set(NON_TEMPORAL, "1MiB").build(),
                "-D" + NON_TEMPORAL + " is 1MiB",
                EpConfig.builder(Map.of(NON_TEMPORAL, "1MiB"), Map.of()).build(),
                "EP_HOST_NON_TEMPORAL_BYTES is 1MiB",
                EpConfig.builder(Map.of(), Map.of("EP_HOST_NON_TEMPORAL_BYTES", "1MiB"))
                        .build());
        byNote.forEach((reason, config) -> {
            Tuning tuning = tuning(config);
            assertThat(EpKeys.HOST_NON_TEMPORAL_BYTES.get(tuning.config(SHAPE))).isEqualTo(MIB);
            assertThat(tuning.notes()).containsExactly(TUNED + NON_TEMPORAL + "=8MiB is not used, since " + reason);
        });
    }

    @Test
    void aSettingOfTheUserLeavesTheOtherMeasuredOnes() {
        keep(new Choice("ep.gpu.sms", "32", "one"), new Choice("ep.gpu.low-latency.sms", "64", "another"));
        Tuning tuning =
                tuning(EpConfig.builder(Map.of(), Map.of("EP_GPU_SMS", "16")).build());
        assertThat(tuning.notes())
                .containsExactly(TUNED + "ep.gpu.sms=32 is not used, since EP_GPU_SMS is 16;"
                        + " ep.gpu.low-latency.sms=64 (another)");
        EpConfig config = tuning.config(SHAPE);
        assertThat(EpKeys.GPU_SMS.get(config)).isEqualTo(16);
        assertThat(EpKeys.LOW_LATENCY_SMS.get(config)).isEqualTo(64);
    }

    @Test
    void withoutChoicesTheDefaultsAreUsed() {
        keep();
        Tuning tuning = tuning(config().build());
        assertThat(tuning.notes()).containsExactly(TUNED + "the defaults are best");
        assertThat(tuning.config(SHAPE).names(Origin.TUNED)).isEmpty();
    }

    @Test
    void eachMeasuredShapeHasItsNote() {
        EpShape other = SHAPE.toBuilder().maxTokens(9).build();
        keep();
        new TunedSettings(Fingerprint.ofHost(plan, 0), TunedSettings.Shape.of(other), List.of(EIGHT_MIB), DATE, "test")
                .write(folder);
        Tuning tuning = tuning(config().build());
        assertThat(tuning.notes())
                .containsExactlyInAnyOrder(
                        TUNED + "the defaults are best",
                        "tuned for buffers of " + TunedSettings.Shape.of(other).text() + " (" + DATE + "): "
                                + NON_TEMPORAL + "=8MiB (" + EIGHT_MIB.reason() + ")");
        assertThat(EpKeys.HOST_NON_TEMPORAL_BYTES.get(tuning.config(SHAPE))).isEqualTo(2 * MIB);
        assertThat(EpKeys.HOST_NON_TEMPORAL_BYTES.get(tuning.config(other))).isEqualTo(8 * MIB);
    }

    @Test
    void whatIsUsedIsLoggedOnceForEachShape() {
        Path file = keep(EIGHT_MIB);
        Tuning tuning = tuning(config().build());
        assertThat(log.withLevels(folder.toString())).isEmpty();
        for (int buffer = 0; buffer < 3; buffer++) {
            tuning.config(SHAPE);
        }
        assertThat(log.withLevels(folder.toString()))
                .containsExactly("INFO rank 0: " + tuning.notes().get(0) + ", as " + file + " says");
    }

    @Test
    void offReadsNothing() throws IOException {
        Path file = keep(EIGHT_MIB);
        isUntuned(tuning(config().set(EpKeys.TUNE.name(), "off").build()));
        Files.writeString(file, "this is none");
        isUntuned(tuning(config().set(EpKeys.TUNE.name(), "off").build()));
        assertThat(log.withLevels(folder.toString())).isEmpty();
    }

    @Test
    void aDamagedFileIsReportedOnceAndTheDefaultsAreUsed() throws IOException {
        Path file = keep(EIGHT_MIB);
        Files.writeString(file, "this is none");
        Tuning tuning = tuning(config().build());
        isUntuned(tuning);
        isUntuned(tuning);
        assertThat(log.withLevels(folder.toString()))
                .singleElement()
                .asString()
                .startsWith("WARNING ")
                .contains(file.toString());
    }

    @Test
    void withoutACacheFolderNothingIsUsed() {
        isUntuned(Tuning.of(config().build(), plan, 0, device, Map.of()));
    }

    @Test
    void aFolderThatDoesNotExistIsNoProblem() {
        isUntuned(Tuning.of(
                config().build(),
                plan,
                0,
                device,
                Map.of("EP_CACHE_DIR", folder.resolve("none").toString())));
        assertThat(log.withLevels(folder.toString())).isEmpty();
    }

    /** Joins a group of two ranks, which are threads. */
    private static <T> List<T> onTwoRanks(EpConfig config, Function<EpGroup, T> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<CompletableFuture<T>> ranks = Bootstrap.inProcess(2).stream()
                    .map(bootstrap -> CompletableFuture.supplyAsync(
                            () -> {
                                try (EpGroup group = EpGroup.join(bootstrap, config)) {
                                    return work.apply(group);
                                }
                            },
                            threads))
                    .toList();
            List<T> results = new ArrayList<>();
            for (CompletableFuture<T> rank : ranks) {
                results.add(rank.get(Guard.minute().toSeconds(), TimeUnit.SECONDS));
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void thePlanOfAGroupSaysWhatItsBuffersUse() throws Exception {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("EP_CACHE_DIR", folder.toString()))
                .set(EpKeys.DEVICE.name(), "host:0")
                .build();
        List<GroupPlan> before = onTwoRanks(config, group -> GroupPlan.of(group.plan()));
        assertThat(before).allSatisfy(one -> assertThat(one.notes()).isEmpty());

        measured(Fingerprint.ofHost(before.get(0), 0), EIGHT_MIB).write(folder);
        Function<EpGroup, GroupPlan> work = group -> {
            group.createBuffer(SHAPE).close();
            group.createBuffer(SHAPE).close();
            return GroupPlan.of(group.plan());
        };
        String note = TUNED + NON_TEMPORAL + "=8MiB (" + EIGHT_MIB.reason() + ")";
        assertThat(onTwoRanks(config, work)).allSatisfy(one -> {
            assertThat(one.notes()).containsExactly(note);
            assertThat(one.explain()).endsWith(note + "\n");
        });
        assertThat(log.withLevels(folder.toString()))
                .hasSize(2)
                .anyMatch(line -> line.startsWith("INFO rank 0: " + note))
                .anyMatch(line -> line.startsWith("INFO rank 1: " + note));

        EpConfig off = config.toBuilder().set(EpKeys.TUNE.name(), "off").build();
        assertThat(onTwoRanks(off, work))
                .allSatisfy(one -> assertThat(one.notes()).isEmpty());
        assertThat(log.withLevels(folder.toString())).hasSize(2);
    }
}
