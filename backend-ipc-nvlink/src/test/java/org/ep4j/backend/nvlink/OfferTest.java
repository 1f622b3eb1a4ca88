package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractStringAssert;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.backend.nvlink.Ranks.Joined;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class OfferTest {
    private final IpcNvlinkProvider provider = new IpcNvlinkProvider();

    private static Offer path(Offer offer) {
        assertThat(offer).matches(Offer::isPath);
        return offer;
    }

    private static AbstractStringAssert<?> refused(Offer offer) {
        assertThat(offer).matches(answer -> !answer.isPath());
        assertThat(offer.remedy()).isNotEmpty();
        return assertThat(offer.reason() + " | " + offer.remedy());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void gpusBehindSwitchesAreAllMappedAtTheRateOfTheirLinks(int gpus) {
        Ranks host = Ranks.of(Joined.NVSWITCH, gpus);
        for (int a = 0; a < gpus; a++) {
            for (int b = 0; b < gpus; b++) {
                Offer offer = path(provider.offer(host.profile(0, "h", a), host.profile(1, "h", b)));
                assertThat(offer.kind()).isEqualTo(EpPath.Kind.MAPPED);
                assertThat(offer.gigabytesPerSecond()).isBetween(300.0, 371.0);
                assertThat(offer.nics()).isEmpty();
                assertThat(offer.staged()).isFalse();
            }
        }
    }

    @Test
    void pciExpressIsOfferedBelowOneSwitchAtItsOwnRate() {
        Ranks host = Ranks.of(Joined.PAIRS_OF_PCI, 4);
        Offer near = path(provider.offer(host.profile(0, "h", 0), host.profile(1, "h", 1)));
        assertThat(near.gigabytesPerSecond()).isBetween(20.0, 48.0);
        assertThat(near.latencyMicros()).isGreaterThan(1.5);
        refused(provider.offer(host.profile(0, "h", 1), host.profile(1, "h", 2)))
                .contains("no NVLink", "PXB", "one PCIe switch");
    }

    @Test
    void pciExpressIsOfferedAcrossTheSwitchesOfOneTree() {
        Ranks host = Ranks.of(Joined.SWITCHES_BELOW_A_SWITCH, 4);
        Offer offer = path(provider.offer(host.profile(0, "h", 1), host.profile(1, "h", 2)));
        assertThat(offer.gigabytesPerSecond()).isBetween(20.0, 48.0);
    }

    @Test
    void aGpuThatIsHiddenByTheEnvironmentAloneIsReachedAllTheSame() {
        Ranks first = Ranks.seeing(Joined.NVSWITCH, Ranks.upTo(4), List.of(2));
        Ranks second = Ranks.seeing(Joined.NVSWITCH, Ranks.upTo(4), List.of(3, 1));
        assertThat(path(provider.offer(first.profile(0, "h", 0), second.profile(1, "h", 0)))
                        .gigabytesPerSecond())
                .isGreaterThan(300);
        path(provider.offer(second.profile(1, "h", 1), first.profile(0, "h", 0)));
    }

    @Test
    void aGpuThatTheContainerLacksIsRefusedWithTheFix() {
        Ranks first = Ranks.seeing(Joined.NVSWITCH, List.of(0), List.of(0));
        Ranks second = Ranks.seeing(Joined.NVSWITCH, List.of(1), List.of(0 + 1));
        // Both are number 0 of their container: numbers say nothing.
        refused(provider.offer(first.profile(0, "h", 0), second.profile(1, "h", 0)))
                .contains("0000:11:00.0 is not visible to the rank with the GPU at 0000:10:00.0", "--gpus all");
        Ranks all = Ranks.of(Joined.NVSWITCH, 2);
        refused(provider.offer(all.profile(0, "h", 0), second.profile(1, "h", 0)))
                .contains("is not visible to the rank");
    }

    @Test
    void numbersOfContainersWithDifferentGpusAreTranslated() {
        // In the second container the GPUs 1, 2, 3 of the host are 0, 1, 2, and 1 is joined to 0 of the host alone.
        Ranks first = Ranks.of(Joined.ROW, 4);
        Ranks second = Ranks.seeing(Joined.ROW, List.of(0, 1), List.of(1, 0));
        assertThat(path(provider.offer(second.profile(1, "h", 0), first.profile(0, "h", 0)))
                        .gigabytesPerSecond())
                .isBetween(60.0, 83.0);
        assertThat(path(provider.offer(first.profile(0, "h", 0), second.profile(1, "h", 0)))
                        .gigabytesPerSecond())
                .isBetween(60.0, 83.0);
    }

    @Test
    void ranksOnOneGpuShareIt() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        Ranks other = host.in(new ProcessFacts("q", "1000", "pid:[1]", "ipc:[1]"));
        path(provider.offer(host.profile(0, "h", 1), host.profile(1, "h", 1)));
        path(provider.offer(host.profile(0, "h", 1), other.profile(1, "h", 1)));
    }

    @Test
    void deniedAccessIsRefusedInBothDirections() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        List<VisibleGpu> gpus = host.gpus().all();
        VisibleGpu closed = new VisibleGpu(
                0, "", gpus.get(0).address(), "sm_90", true, false, Map.of(1, new VisibleGpu.Peer(false, false, 1)));
        Ranks denied = host.with(new VisibleGpus("driver for CUDA 13.0", List.of(closed, gpus.get(1))));
        RankProfile a = denied.profile(0, "h", 0);
        RankProfile b = denied.profile(1, "h", 1);
        refused(provider.offer(a, b)).contains("denies peer access", "0000:10:00.0", "topo -p2p", "fabric manager");
        refused(provider.offer(b, a)).contains("denies peer access");
    }

    @Test
    void processesNeedOneUserAndOnePidNamespaceAndThreadsNeither() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        RankProfile here = host.profile(0, "h", 0);
        refused(provider.offer(
                        here,
                        host.in(new ProcessFacts("q", "1000", "pid:[2]", "ipc:[1]"))
                                .profile(1, "h", 1)))
                .contains("PID namespaces", "--pid=host");
        refused(provider.offer(
                        here,
                        host.in(new ProcessFacts("q", "0", "pid:[1]", "ipc:[1]"))
                                .profile(1, "h", 1)))
                .contains("different users", "same user");
        path(provider.offer(
                here,
                host.in(new ProcessFacts("q", "1000", "pid:[1]", "ipc:[2]")).profile(1, "h", 1)));
    }

    @Test
    void memoryThatProcessesCannotShareIsForThreads() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 2);
        List<VisibleGpu> gpus = host.gpus().all().stream()
                .map(gpu ->
                        new VisibleGpu(gpu.ordinal(), "", gpu.address(), gpu.architecture(), false, false, gpu.peers()))
                .toList();
        Ranks closed = host.with(new VisibleGpus("driver for CUDA 13.0", gpus));
        path(provider.offer(closed.profile(0, "h", 0), closed.profile(1, "h", 1)));
        Ranks other = closed.in(new ProcessFacts("q", "1000", "pid:[1]", "ipc:[1]"));
        refused(provider.offer(closed.profile(0, "h", 0), other.profile(1, "h", 1)))
                .contains("cannot be shared between processes", "threads");
    }

    @Test
    void hostsAreJoinedByADomainWithFabricHandles() {
        Ranks host = Ranks.of(Joined.NVSWITCH, 4).inDomain("c/1", Ranks.IMEX);
        Offer offer = path(provider.offer(host.profile(0, "a", 0, "c/1"), host.profile(1, "b", 3, "c/1")));
        assertThat(offer.kind()).isEqualTo(EpPath.Kind.MAPPED);
        assertThat(offer.gigabytesPerSecond()).isGreaterThan(300);
        refused(provider.offer(host.profile(0, "a", 0, "c/1"), host.profile(1, "b", 3, "c/2")))
                .contains("different hosts", "NVLink domain", "IMEX");
        Ranks without = Ranks.of(Joined.NVSWITCH, 4).inDomain("c/1", Ranks.NO_FILES);
        refused(provider.offer(host.profile(0, "a", 0, "c/1"), without.profile(1, "b", 3, "c/1")))
                .contains("does not support fabric handles");
    }

    @Test
    void withoutATopologyTheFactsOfCudaCount() {
        Ranks host = Ranks.of(Joined.UNKNOWN, 3);
        assertThat(path(provider.offer(host.profile(0, "h", 0), host.profile(1, "h", 2)))
                        .gigabytesPerSecond())
                .isGreaterThan(300);
        List<VisibleGpu> gpus = host.gpus().all().stream()
                .map(gpu -> new VisibleGpu(
                        gpu.ordinal(),
                        "",
                        gpu.address(),
                        gpu.architecture(),
                        true,
                        false,
                        Map.of((gpu.ordinal() + 1) % 3, new VisibleGpu.Peer(true, false, 1))))
                .toList();
        Ranks silent = host.with(new VisibleGpus("driver for CUDA 13.0", gpus));
        refused(provider.offer(silent.profile(0, "h", 0), silent.profile(1, "h", 1)))
                .contains("the link between the GPUs is unknown", "NVML");
    }

    @Test
    void otherDevicesAreNotServed() {
        RankProfile gpu = Ranks.of(Joined.NVSWITCH, 1).profile(0, "h", 0);
        for (String device : List.of("host", "hip:0")) {
            RankProfile other = RankProfile.builder(1, "h", Device.parse(device))
                    .pid(1)
                    .backends(gpu.backends())
                    .settings(gpu.settings())
                    .build();
            refused(provider.offer(gpu, other)).contains("not an NVIDIA GPU");
            refused(provider.offer(other, gpu)).contains("not an NVIDIA GPU");
        }
    }

    @Test
    void aRankWithoutFactsHasNoPath() {
        RankProfile gpu = Ranks.of(Joined.NVSWITCH, 1).profile(0, "h", 0);
        RankProfile silent = RankProfile.builder(1, "h", gpu.device()).pid(1).build();
        refused(provider.offer(gpu, silent)).contains("did not report its GPU");
    }
}
