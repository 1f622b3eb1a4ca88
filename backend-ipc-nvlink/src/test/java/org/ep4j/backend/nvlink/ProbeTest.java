package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.backend.nvlink.Ranks.Joined;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class ProbeTest {
    private static final List<String> CODES =
            List.of("EP-NVL-001", "EP-NVL-002", "EP-NVL-003", "EP-NVL-004", "EP-NVL-005", "EP-NVL-006", "EP-NVL-007");

    private static Check check(ProbeReport report, String code) {
        assertThat(report.checks()).extracting(Check::code).containsExactlyElementsOf(CODES);
        return report.checks().stream()
                .filter(check -> check.code().equals(code))
                .findFirst()
                .orElseThrow();
    }

    private static ProcessFacts process() {
        return new ProcessFacts("p", "0", "pid:[1]", "");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void everyPairIsReported(int gpus) {
        ProbeReport report = Ranks.of(Joined.NVSWITCH, gpus).probe(Device.cuda(gpus - 1));
        assertThat(report.usable()).isTrue();
        String pairs = check(report, "EP-NVL-004").detail();
        for (int a = 0; a < gpus; a++) {
            for (int b = a + 1; b < gpus; b++) {
                assertThat(pairs).contains("cuda:" + a + " - cuda:" + b + " NVLink x18 through switches, peer access");
            }
        }
        assertThat(check(report, "EP-NVL-004").status()).isEqualTo(Status.PASS);
    }

    @Test
    void directLinksAndPciExpressAreDistinguished() {
        String row = check(Ranks.of(Joined.ROW, 3).probe(Device.cuda(0)), "EP-NVL-004")
                .detail();
        assertThat(row).contains("cuda:0 - cuda:1 NVLink x4, ", "cuda:0 - cuda:2 PCIe ");
        String pci = check(Ranks.of(Joined.PAIRS_OF_PCI, 2).probe(Device.cuda(0)), "EP-NVL-004")
                .detail();
        assertThat(pci).contains("PCIe PIX, peer access");
        String unknown = check(Ranks.of(Joined.UNKNOWN, 2).probe(Device.cuda(0)), "EP-NVL-004")
                .detail();
        assertThat(unknown).contains("unknown link, peer access");
    }

    @Test
    void missingAccessWarnsWithARemedy() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        VisibleGpu closed = new VisibleGpu(
                0,
                "T",
                host.gpus().all().get(0).address(),
                "sm_90",
                true,
                false,
                Map.of(1, new VisibleGpu.Peer(false, false, 1)));
        ProbeReport report = host.with(new VisibleGpus(
                        "driver for CUDA 13.0",
                        List.of(closed, host.gpus().all().get(1))))
                .probe(Device.cuda(0));
        Check pairs = check(report, "EP-NVL-004");
        assertThat(pairs.status()).isEqualTo(Status.WARN);
        assertThat(pairs.detail()).contains("cuda:0 has no peer access to cuda:1", "one way only");
        assertThat(pairs.remedy()).contains("nvidia-smi topo -p2p");
        assertThat(report.usable()).isTrue();
    }

    @Test
    void hiddenGpusAreNamedByTheirAddresses() {
        ProbeReport report =
                Ranks.seeing(Joined.NVSWITCH, Ranks.upTo(4), List.of(3, 1)).probe(Device.cuda(0));
        assertThat(check(report, "EP-NVL-006").detail()).contains("2 GPUs", "0000:10:00.0, 0000:12:00.0");
        assertThat(report.facts())
                .containsEntry("gpu", "0000:13:00.0")
                .containsEntry("gpus", "0=0000:10:00.0,1=0000:11:00.0,2=0000:12:00.0,3=0000:13:00.0");
    }

    @Test
    void theDomainNeedsFabricHandlesAndAChannel() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        Check alone = check(host.probe(Device.cuda(0)), "EP-NVL-007");
        assertThat(alone.detail()).contains("NVLink connects only GPUs of this host");
        ProbeReport with = host.inDomain("c/7", Ranks.IMEX).probe(Device.cuda(0));
        assertThat(check(with, "EP-NVL-007").detail()).contains("c/7", "channel0");
        assertThat(with.facts()).containsEntry("fabric", "yes");
        ProbeReport without = host.inDomain("c/7", Ranks.NO_FILES).probe(Device.cuda(0));
        assertThat(check(without, "EP-NVL-007").status()).isEqualTo(Status.WARN);
        assertThat(check(without, "EP-NVL-007").remedy()).contains("nvidia-imex");
        assertThat(without.facts()).containsEntry("fabric", "no");
    }

    @Test
    void theGpuMustExist() {
        ProbeReport report = Ranks.of(Joined.NVSWITCH, 2).probe(Device.cuda(2));
        assertThat(report.usable()).isFalse();
        assertThat(check(report, "EP-NVL-003").detail()).contains("cuda:2 does not exist", "2 GPUs");
        assertThat(check(report, "EP-NVL-007").status()).isEqualTo(Status.NOT_RUN);
    }

    @Test
    void withoutADriverItSaysSo() {
        ProbeReport report = new NvlinkProbe(
                        new IpcNvlinkProvider(),
                        () -> {
                            throw new EpUnavailableException("no driver here; install it");
                        },
                        () -> Topology.builder("t").build(),
                        ProbeTest::process,
                        Ranks.NO_FILES)
                .probe(Device.cuda(0));
        assertThat(report.usable()).isFalse();
        assertThat(check(report, "EP-NVL-002").detail()).contains("no driver here");
        assertThat(check(report, "EP-NVL-002").remedy()).contains("nvidia-smi");
    }

    @Test
    void aMachineThatCannotBeReadIsNoFailure() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        ProbeReport report = new NvlinkProbe(
                        new IpcNvlinkProvider(),
                        host::gpus,
                        () -> {
                            throw new TopologyException("broken on purpose");
                        },
                        host::process,
                        host.files())
                .probe(Device.cuda(0));
        assertThat(report.usable()).isTrue();
        assertThat(report.facts()).containsEntry("gpus", "-1=0000:10:00.0,-1=0000:11:00.0");
    }

    @Test
    void otherDevicesAreNotChecked() {
        ProbeReport report = new NvlinkProbe(
                        new IpcNvlinkProvider(),
                        () -> {
                            throw new AssertionError("CUDA was loaded for the host device");
                        },
                        () -> {
                            throw new AssertionError("the machine was read for the host device");
                        },
                        ProbeTest::process,
                        Ranks.NO_FILES)
                .probe(Device.HOST);
        assertThat(report.usable()).isFalse();
        assertThat(check(report, "EP-NVL-001").remedy()).contains("host-shm", "rocm");
        assertThat(report.facts()).isEmpty();
    }

    @Test
    void theProviderProbesThisMachineWithoutThrowing() {
        IpcNvlinkProvider provider = new IpcNvlinkProvider();
        ProbeRequest request = ProbeRequest.of(
                Device.cuda(0), EpConfig.builder(Map.of(), Map.of()).build(), Duration.ofSeconds(20));
        ProbeReport report = provider.probe(request);
        assertThat(report.checks()).extracting(Check::code).containsExactlyElementsOf(CODES);
        assertThat(report.failures())
                .allSatisfy(check -> assertThat(check.remedy()).isNotEmpty());
        assertThat(provider.probe(request).facts()).isEqualTo(report.facts());
    }
}
