package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.rows.Rows;
import org.ep4j.engine.rows.RowsForTests;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows of a buffer on the host whose shape {@code ./ep tune} has measured. */
@Tag("verify")
final class HostTuningTest {
    private static final EpShape MEASURED =
            EpShape.builder(64, 8, 2).maxTokens(8).maxLowLatencyTokens(4).build();
    private static final EpShape OTHER = MEASURED.toBuilder().maxTokens(9).build();
    private static final String NON_TEMPORAL = EpKeys.HOST_NON_TEMPORAL_BYTES.name();
    private static final long MIB = 1L << 20;

    private static EpGroup alone(EpConfig config) {
        return EpGroup.join(Bootstrap.inProcess(1).get(0), config);
    }

    private static void hasThreshold(long bytes, EpConfig config, EpShape shape) {
        try (EpGroup group = alone(config);
                EpBuffer buffer = group.createBuffer(shape)) {
            Rows rows = EngineBuffer.on(buffer, HostBuffer.class)
                    .orElseThrow()
                    .state()
                    .rowLoops();
            assertThat(rows.isNative()).as(rows.description()).isTrue();
            assertThat(rows.isLarge(bytes)).isFalse();
            assertThat(rows.isLarge(bytes + 1)).isTrue();
        }
    }

    @Test
    void aBufferOfAMeasuredShapeHasTheThresholdOfTheFile(@TempDir Path folder) {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("EP_CACHE_DIR", folder.toString()))
                .set(EpKeys.DEVICE.name(), "host:0")
                .set(EpKeys.HOST_ROWS.name(), RowsForTests.variants().get(0))
                .build();
        hasThreshold(2 * MIB, config, MEASURED);
        try (EpGroup group = alone(config)) {
            new TunedSettings(
                            Fingerprint.ofHost(GroupPlan.of(group.plan()), 0),
                            TunedSettings.Shape.of(MEASURED),
                            List.of(new Choice(NON_TEMPORAL, "8MiB", "for a test")),
                            "2026-11-30",
                            "test")
                    .write(folder);
        }
        hasThreshold(8 * MIB, config, MEASURED);
        hasThreshold(2 * MIB, config, OTHER);
        hasThreshold(MIB, config.toBuilder().set(NON_TEMPORAL, "1MiB").build(), MEASURED);
        hasThreshold(2 * MIB, config.toBuilder().set(EpKeys.TUNE.name(), "off").build(), MEASURED);
    }
}
