package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code ep plan} on a machine of two GPUs and two NICs that is written here, and on this one. */
@Tag("verify")
final class PlanCommandTest {
    private static final String MACHINE = """
            <system version="1">
              <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
                  <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
                    <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="ffffffff:ffff:ff" count="18" tclass="0x068000"/></gpu>
                  </pci>
                  <pci busid="0000:12:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
                    <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" gdr="1"/></nic>
                  </pci>
                </pci>
                <pci busid="0000:20:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
                  <pci busid="0000:21:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
                    <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="ffffffff:ffff:ff" count="18" tclass="0x068000"/></gpu>
                  </pci>
                  <pci busid="0000:22:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
                    <nic><net name="mlx5_1" dev="1" speed="400000" port="1" guid="0x2" gdr="1"/></nic>
                  </pci>
                </pci>
              </cpu>
            </system>
            """;

    private static String machine(Path folder) throws Exception {
        return Files.writeString(folder.resolve("machine.xml"), MACHINE).toString();
    }

    @Test
    void aDescribedClusterGetsPathsNicsSizesAndForecasts(@TempDir Path folder) throws Exception {
        Ran ran = Ran.ep("plan", "--file", machine(folder), "--hosts", "4");
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out())
                .contains("4 hosts, 8 ranks of device cuda")
                .contains("the first two of 4 hosts")
                .contains("ipc-nvlink", "nvshmem-ibgda")
                .doesNotContain("ipc-nvlink*", "nvshmem-ibgda*")
                .contains("not taken: ibrc-multiqp: slower", "for other hardware: ", "rocm")
                .doesNotContain("not taken: rocm")
                .contains("mlx5_0:1 PIX 400G", "mlx5_1:1 PIX 400G")
                .contains("symmetric buffer", "lanes of nvshmem-ibgda", "multiprocessors")
                .contains("ht dispatch", "ll combine", "mlx5_0:1 of host-0");
    }

    @Test
    void aSingleRankHasNoLoadsAndNoHeadingsForThem(@TempDir Path folder) throws Exception {
        String bare = MACHINE.replaceAll("(?s)<pci.*</pci>", "");
        Path file = Files.writeString(folder.resolve("bare.xml"), bare);
        Ran alone = Ran.ep("plan", "--file", file.toString());
        assertThat(alone.code()).as(alone.err()).isZero();
        assertThat(alone.out())
                .contains("1 rank of device host", "ht dispatch")
                .doesNotContain("load of each", "rows: ");
        Ran four = Ran.ep("plan", "--file", file.toString(), "--ranks-per-host", "4");
        assertThat(four.out()).contains("ht dispatch: load of each kind of resource");
    }

    @Test
    void settingsCountAsInAGroup(@TempDir Path folder) throws Exception {
        String machine = machine(folder);
        Ran lanes = Ran.ep("plan", "--file", machine, "--hosts", "2", "--set", "ep.lanes=5", "--json");
        assertThat(lanes.code()).as(lanes.err()).isZero();
        assertThat(lanes.out()).contains("\"lanes\" : 5");
        Ran required =
                Ran.ep("plan", "--file", machine, "--hosts", "2", "--set", "ep.backend.require=ibrc-multiqp", "--json");
        assertThat(required.out())
                .contains("\"backend\" : \"ibrc-multiqp\"")
                .doesNotContain("\"backend\" : \"ipc-nvlink\"");
        Ran posted = Ran.ep("plan", "--file", machine, "--hosts", "2", "--require", "ibrc-multiqp,ipc-nvlink");
        assertThat(posted.out()).contains("Posting to NICs", "no limit").doesNotContain("EP-IBR-001");
        Ran unknown = Ran.ep("plan", "--file", machine, "--set", "ep.lane=5");
        assertThat(unknown.code()).isEqualTo(2);
        assertThat(unknown.err()).contains("ep.lane", "ep.lanes");
    }

    @Test
    void aFileThatIsSilentAboutGpuLinksSaysWhatIsTaken(@TempDir Path folder) throws Exception {
        String silent = MACHINE.replaceAll("<nvlink[^>]*/>", "").replaceAll("device=\"0x2330\"", "device=\"0x20b5\"");
        Path file = Files.writeString(folder.resolve("silent.xml"), silent);
        Ran ran = Ran.ep("plan", "--file", file.toString());
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("shows no GPU links", "--gpu-links all");
    }

    @Test
    void theJsonHoldsTheSame(@TempDir Path folder) throws Exception {
        Ran ran = Ran.ep("plan", "--file", machine(folder), "--hosts", "2", "--mode", "ll", "--json");
        assertThat(ran.code()).as(ran.err()).isZero();
        JsonNode json = JsonMapper.shared().readTree(ran.out());
        assertThat(json.get("ranks").asInt()).isEqualTo(4);
        assertThat(json.get("table").get(0).get(2).asString()).isEqualTo("nvshmem-ibgda");
        assertThat(json.get("paths").get(0).get("rejected").size()).isPositive();
        assertThat(json.get("forecasts").size()).isEqualTo(2);
        assertThat(json.get("forecasts").get(0).get("micros").asDouble()).isPositive();
        JsonNode sizes = json.get("sizes");
        assertThat(sizes.get("symmetricBytes").asLong()).isPositive();
        assertThat(sizes.get("bytesAtCreation").asLong())
                .isEqualTo(sizes.get("symmetricBytes").asLong());
        assertThat(sizes.get("localParts").size()).isPositive();
    }

    @Test
    void theJsonCanGoToAFile(@TempDir Path folder) throws Exception {
        Path out = folder.resolve("plan.json");
        Ran ran = Ran.ep("plan", "--file", machine(folder), "--json", out.toString());
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("Forecast");
        assertThat(JsonMapper.shared()
                        .readTree(Files.readString(out))
                        .get("ranks")
                        .asInt())
                .isEqualTo(2);
    }

    @Test
    void backendAndNicChoicesAreAppliedAndNamedAsReasons(@TempDir Path folder) throws Exception {
        Ran required = Ran.ep("plan", "--file", machine(folder), "--hosts", "2", "--require", "ibrc-multiqp");
        assertThat(required.out()).contains("not among ep.backend.require").doesNotContain("I = ipc-nvlink");
        Ran excluded = Ran.ep("plan", "--file", machine(folder), "--hosts", "2", "--exclude", "nvshmem-ibgda,efa");
        assertThat(excluded.out())
                .contains("ibrc-multiqp", "excluded by ep.backend.exclude")
                .doesNotContain("ibrc-multiqp*");
        Ran mapped = Ran.ep("plan", "--file", machine(folder), "--hosts", "2", "--nic-map", "0:mlx5_1:1,1:mlx5_1:1");
        assertThat(mapped.code()).as(mapped.err()).isZero();
        assertThat(mapped.out()).doesNotContain("mlx5_0:1 PIX");
    }

    @Test
    void whatCannotBePlannedIsRefusedWithTheReason(@TempDir Path folder) throws Exception {
        Ran none = Ran.ep("plan", "--file", machine(folder), "--hosts", "2", "--require", "ipc-nvlink");
        assertThat(none.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(none.err()).contains("have no path", "NVLink domain");
        Ran unknown = Ran.ep("plan", "--file", machine(folder), "--require", "carrier-pigeon");
        assertThat(unknown.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(unknown.err()).contains("carrier-pigeon", "nvshmem-ibgda");
        Ran ranks = Ran.ep("plan", "--file", machine(folder), "--ranks-per-host", "3");
        assertThat(ranks.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ranks.err()).contains("--ranks-per-host", "3", "at most 2");
    }

    @Test
    void moreRanksThanExpertsAreRemarkedUpon(@TempDir Path folder) throws Exception {
        Ran ran = Ran.ep("plan", "--file", machine(folder), "--hosts", "8", "--experts", "8");
        assertThat(ran.out()).contains("8 experts on 16 ranks: only 8 ranks hold an expert");
    }

    @Test
    void thisMachineCanBePlannedFor() {
        Ran ran = Ran.ep("plan", "--hosts", "2", "--ranks-per-host", "2", "--host-device");
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("2 hosts, 4 ranks of device host", "host-shm", "efa", "  rows: ");
        Ran java = Ran.ep("plan", "--host-device", "--set", "ep.host.rows=java", "--json");
        assertThat(JsonMapper.shared().readTree(java.out()).get("rows").asString())
                .isEqualTo("java (as ep.host.rows says)");
    }

    private static Ran tuned(Path cache, String more) {
        String line = "plan --host-device --ranks-per-host 2 --mode ht --tokens 64 --set ep.tune=on " + more;
        return Ran.with(
                new PlanCommand(Map.of("EP_CACHE_DIR", cache.toString())),
                line.strip().split(" ", -1));
    }

    private static void measured(Path cache, int ranks, int tokens, String value) {
        // Neither the model nor the number of processors, which are this machine's.
        new TunedSettings(
                        new Fingerprint("host", "", 0, ranks, 1, 1, List.of("host-shm")),
                        new Shape(7168, 256, 8, tokens, 0),
                        value.isEmpty()
                                ? List.of()
                                : List.of(new Choice("ep.host.non-temporal-bytes", value, "ht.combine: 9.0 -> 8.0 us")),
                        "2026-01-02",
                        "1")
                .write(cache);
    }

    @Test
    void whatWasMeasuredForTheGroupAndTheShapeIsShown(@TempDir Path cache) {
        measured(cache, 2, 64, "8MiB");
        measured(cache, 2, 65, "16MiB");
        measured(cache, 3, 64, "32MiB");
        Ran ran = tuned(cache, "");
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out())
                .contains(
                        "Tuned (./ep tune)",
                        "  measured on 2026-01-02, host, 2 ranks on 1 host, host-shm:",
                        "    ep.host.non-temporal-bytes=8MiB (ht.combine: 9.0 -> 8.0 us)")
                .doesNotContain("16MiB", "32MiB");
        assertThat(tuned(cache, "--set ep.host.non-temporal-bytes=4MiB").out())
                .contains("ep.host.non-temporal-bytes=8MiB is not used, since ep.host.non-temporal-bytes is 4MiB");
        JsonNode json =
                JsonMapper.shared().readTree(tuned(cache, "--json").out()).path("tuned");
        assertThat(json).hasSize(1);
        assertThat(json.get(0).path("settings").get(0).path("value").asString()).isEqualTo("8MiB");
    }

    @Test
    void withoutAMeasurementThereIsNoSuchSection(@TempDir Path cache) throws Exception {
        measured(cache, 3, 64, "32MiB");
        assertThat(tuned(cache, "").out()).contains("Forecast").doesNotContain("Tuned");
        assertThat(JsonMapper.shared().readTree(tuned(cache, "--json").out()).path("tuned"))
                .isEmpty();
        measured(cache, 2, 64, "");
        assertThat(tuned(cache, "").out()).contains("Tuned (./ep tune)", "    the defaults are best");
        Ran off = Ran.with(
                new PlanCommand(Map.of("EP_CACHE_DIR", cache.toString())),
                "plan --host-device --ranks-per-host 2 --mode ht --tokens 64 --set ep.tune=off".split(" ", -1));
        assertThat(off.out()).contains("Forecast").doesNotContain("Tuned");
        Path damaged = Files.writeString(cache.resolve("tuned-0.properties"), "format=9");
        assertThat(tuned(cache, "").out().replaceAll("\\s+", "")).contains(damaged.toString());
    }

    @Test
    void measurementsOnThisMachineDoNotCountForAnother(@TempDir Path folder) throws Exception {
        new TunedSettings(
                        new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink")),
                        new Shape(7168, 256, 8, 4096, 128),
                        List.of(new Choice("ep.gpu.sms", "32", "ht.combine: 9.0 -> 8.0 us")),
                        "2026-01-02",
                        "1")
                .write(folder);
        Ran ran = Ran.with(
                new PlanCommand(Map.of("EP_CACHE_DIR", folder.toString())),
                "plan",
                "--set",
                "ep.tune=on",
                "--file",
                machine(folder));
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("2 ranks of device cuda").doesNotContain("Tuned");
    }
}
