package org.ep4j.plan.forecast;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.BufferSize;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class SizingTest {
    private static final BufferSize BUFFER = BufferSize.of(100, 10);

    /** Two hosts of two GPUs each: mapped inside, {@code kind} across, with 2 ports and 4 lanes. */
    private static GroupPlan plan(EpPath.Kind kind) {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            int gpu = rank % 2;
            Locality locality = Locality.builder()
                    .gpu(gpu)
                    .vendor(GpuVendor.NVIDIA)
                    .architecture("sm_90")
                    .numa(0)
                    .gpus(2)
                    .peers(List.of(GpuPeer.of(1 - gpu, new Distance(PathType.NVL, 370.8, 2), LinkType.NVLINK)))
                    .build();
            profiles.add(RankProfile.builder(rank, "h" + rank / 2, Device.cuda(gpu))
                    .pid(1)
                    .locality(locality)
                    .build());
            for (int to = 0; to < 4; to++) {
                boolean same = rank / 2 == to / 2;
                EpPath.Kind used = rank == to ? EpPath.Kind.LOCAL : same ? EpPath.Kind.MAPPED : kind;
                List<String> nics = same ? List.of() : List.of("a:1", "b:1");
                paths.add(EpPath.builder(rank, to, rank == to ? "local" : same ? "links" : "nics", used)
                        .nics(nics)
                        .lanes(same ? 1 : 4)
                        .gigabytesPerSecond(same ? 326 : 45)
                        .latencyMicros(1)
                        .build());
            }
        }
        return GroupPlan.of(profiles, paths);
    }

    @Test
    void lanesAddUpOverThePeersOfARankAndTheRanksOfAHost() {
        Sizing sizing = Sizing.of(plan(EpPath.Kind.DEVICE_POSTED), BUFFER);
        assertThat(sizing.lanesPerRank()).isEqualTo(Map.of("nics", 8L));
        assertThat(sizing.lanesPerHost()).isEqualTo(Map.of("nics", 16L));
        assertThat(sizing.buffer()).isEqualTo(BUFFER);
    }

    @Test
    void lanesAreInTheOrderOfTheBackends() {
        Map<String, Long> lanes = Map.of("d", 4L, "b", 2L, "c", 3L, "a", 1L);
        Sizing sizing = new Sizing(BUFFER, lanes, lanes, 0, 0, 0, 0);
        assertThat(sizing.lanesPerRank().keySet()).containsExactly("a", "b", "c", "d");
        assertThat(sizing.lanesPerHost().keySet()).containsExactly("a", "b", "c", "d");
    }

    @Test
    void onlyHostThreadsThatPostAreProxies() {
        Sizing device = Sizing.of(plan(EpPath.Kind.DEVICE_POSTED), BUFFER);
        assertThat(device.proxiesPerRank()).isZero();
        assertThat(device.endpointsPerRank()).isZero();
        Sizing host = Sizing.of(plan(EpPath.Kind.HOST_POSTED), BUFFER);
        assertThat(host.proxiesPerRank()).isEqualTo(8);
        assertThat(host.proxiesPerHost()).isEqualTo(16);
        assertThat(host.endpointsPerRank()).as("two peers, two ports").isEqualTo(4);
    }

    @Test
    void multiprocessorsGrowWithTheLinksAndAreEven() {
        assertThat(Sizing.multiprocessors(GpuVendor.NVIDIA, 326)).isBetween(16, 24);
        assertThat(Sizing.multiprocessors(GpuVendor.NVIDIA, 45)).isEqualTo(4);
        int before = 0;
        for (double rate = 1; rate < 1000; rate += 7) {
            int now = Sizing.multiprocessors(GpuVendor.NVIDIA, rate);
            assertThat(now).isGreaterThanOrEqualTo(before).isEven();
            before = now;
        }
    }
}
