package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpShape;
import org.ep4j.cli.plan.PlanReport.Tuned;
import org.ep4j.cli.plan.PlanReport.TunedSetting;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.Objective;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Measurements that a plan finds for two GPUs, whose number of multiprocessors a plan does not know. */
@Tag("verify")
final class PlanTuningTest {
    private static final String MACHINE = """
            <system version="1">
              <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
                  <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="ffffffff:ffff:ff" count="18" tclass="0x068000"/></gpu>
                </pci>
                <pci busid="0000:21:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
                  <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="ffffffff:ffff:ff" count="18" tclass="0x068000"/></gpu>
                </pci>
              </cpu>
            </system>
            """;

    private static final Shape SHAPE = new Shape(7168, 256, 8, 4096, 128);
    private static final String REASON = "ht.combine.bf16, 4096 tokens: 221.9 -> 211.4 us";

    @TempDir
    private Path folder;

    private Path cache() {
        return folder.resolve("cache");
    }

    private void measured(String model, int processors, List<String> backends, Choice... choices) {
        new TunedSettings(
                        new Fingerprint("cuda", model, processors, 2, 1, 2, backends),
                        SHAPE,
                        List.of(choices),
                        "2026-01-02",
                        "1")
                .write(cache());
    }

    private List<Tuned> planned(Map<String, String> settings, int lowLatencyTokens) throws Exception {
        Path machine = Files.writeString(folder.resolve("machine.xml"), MACHINE);
        return PlanAnalysis.of(
                        Topologies.read(machine),
                        new PlanRequest(
                                new SimulatedRanks.Options(1, 0, 0, GpuLinks.FILE, ""),
                                PlanSettings.of(settings),
                                List.of(),
                                Objective.BALANCED,
                                EpShape.builder(7168, 256, 8)
                                        .maxTokens(4096)
                                        .maxLowLatencyTokens(lowLatencyTokens)
                                        .build(),
                                false,
                                1,
                                1,
                                false,
                                Optional.of(cache())))
                .tuned();
    }

    @Test
    void theMeasurementOfTheseGpusIsFound() throws Exception {
        measured("sm_90", 132, List.of("ipc-nvlink"), new Choice("ep.gpu.sms", "32", REASON));
        measured("sm_100", 148, List.of("ipc-nvlink"), new Choice("ep.gpu.sms", "40", REASON));
        measured("sm_90", 132, List.of("nvshmem-ibgda"), new Choice("ep.gpu.sms", "48", REASON));
        assertThat(planned(Map.of("ep.tune", "on"), 128))
                .containsExactly(new Tuned(
                        "2026-01-02",
                        "cuda sm_90 with 132 multiprocessors, 2 ranks on 1 host and 2 GPUs, ipc-nvlink",
                        List.of(new TunedSetting("ep.gpu.sms", "32", REASON, ""))));
        assertThat(planned(Map.of("ep.tune", "on"), 64)).isEmpty();
        assertThat(planned(Map.of("ep.tune", "off"), 128)).isEmpty();
    }

    @Test
    void anExplicitValueIsNamedInsteadOfTheMeasuredOne() throws Exception {
        measured(
                "sm_90",
                132,
                List.of("ipc-nvlink"),
                new Choice("ep.gpu.sms", "32", REASON),
                new Choice("ep.gpu.low-latency.sms", "66", "x"));
        List<Tuned> found = planned(Map.of("ep.tune", "on", "ep.gpu.sms", "16"), 128);
        assertThat(found.get(0).settings()).extracting(TunedSetting::instead).containsExactly("ep.gpu.sms is 16", "");
    }
}
