package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("verify")
final class FingerprintTest {
    private static final Fingerprint TWO_GPUS =
            new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of(Machines.MAPPED));

    @TempDir
    private Path folder;

    private static GroupPlan plan(List<RankProfile> profiles) {
        return Planner.plan(profiles, List.of(Machines.mapped(), Machines.posted()), PlanOptions.AUTO);
    }

    private static GroupPlan plan(List<Integer> ranksOfHosts, IntFunction<Locality> gpu) {
        return plan(Machines.hosts(ranksOfHosts, gpu));
    }

    private static GroupPlan onHost(int ranks) {
        return plan(List.of(ranks), i -> Locality.UNKNOWN);
    }

    private Path cpuinfo(String text) throws IOException {
        return Files.writeString(folder.resolve("cpuinfo"), text, StandardCharsets.UTF_8);
    }

    @Test
    void gpusHaveTheirArchitectureAndMultiprocessors() {
        GroupPlan plan = plan(List.of(2), i -> Machines.gpu(i, List.of()));
        assertThat(Fingerprint.ofGpu(plan, 0, "sm_90", 132)).isEqualTo(TWO_GPUS);
        assertThat(Fingerprint.ofGpu(plan, 1, "sm_90", 132))
                .as("the other rank")
                .isEqualTo(TWO_GPUS);
        assertThat(Fingerprint.ofGpu(plan, 1, "", 0))
                .isEqualTo(new Fingerprint("cuda", "", 0, 2, 1, 2, List.of(Machines.MAPPED)));
    }

    @Test
    void aGpuThatRanksShareCountsOnce() {
        GroupPlan plan = plan(List.of(2), i -> Machines.gpu(0, List.of()));
        assertThat(Fingerprint.ofGpu(plan, 0, "sm_90", 132).devices()).isEqualTo(1);
    }

    @Test
    void gpusThatTheirProcessesSeeAloneCountEach() {
        List<RankProfile> profiles = new ArrayList<>();
        for (RankProfile profile : Machines.hosts(List.of(2), i -> Machines.gpu(i, List.of()))) {
            profiles.add(RankProfile.builder(profile.rank(), profile.hostId(), Device.cuda(0))
                    .locality(profile.locality())
                    .backends(profile.backends())
                    .build());
        }
        assertThat(Fingerprint.ofGpu(plan(profiles), 0, "sm_90", 132)).isEqualTo(TWO_GPUS);
    }

    @Test
    void hostsAndTheirDevicesAndAllBackendsAreCounted() {
        GroupPlan plan = plan(List.of(2, 1), i -> Machines.ownNics(i, 2, 1));
        assertThat(Fingerprint.ofGpu(plan, 2, "sm_90", 132))
                .isEqualTo(new Fingerprint("cuda", "sm_90", 132, 3, 2, 3, List.of(Machines.MAPPED, Machines.POSTED)));
    }

    @Test
    void theHostIsNamedByItsFirstProcessor() throws IOException {
        Path cpuinfo = cpuinfo("""
                processor\t: 0
                vendor_id\t: GenuineIntel
                model\t\t: 143
                model name\t: Intel(R) Xeon(R) Platinum 8480C: a
                flags\t\t: fpu vme

                processor\t: 1
                model name\t: another
                """);
        assertThat(Fingerprint.ofHost(onHost(4), 3, cpuinfo))
                .isEqualTo(new Fingerprint(
                        "host",
                        "Intel(R) Xeon(R) Platinum 8480C: a",
                        Runtime.getRuntime().availableProcessors(),
                        4,
                        1,
                        1,
                        List.of(Machines.MAPPED)));
    }

    @Test
    void anArmProcessorIsNamedByItsNumbers() throws IOException {
        Path cpuinfo = cpuinfo("processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n");
        assertThat(Fingerprint.ofHost(onHost(2), 0, cpuinfo).model()).isEqualTo("implementer 0x41, part 0xd4f");
    }

    @Test
    void aProcessorThatNothingNamesIsUnknown() throws IOException {
        assertThat(Fingerprint.ofHost(onHost(2), 0, cpuinfo("processor\t: 0\nisa\t: rv64imafdc\n"))
                        .model())
                .isEmpty();
        assertThat(Fingerprint.ofHost(onHost(2), 0, folder.resolve("none")).model())
                .isEmpty();
    }

    @Test
    void ranksOnThisHostHaveEqualFingerprints() {
        Fingerprint own = Fingerprint.ofHost(onHost(2), 0);
        assertThat(own.device()).isEqualTo("host");
        assertThat(own.processors()).isEqualTo(Runtime.getRuntime().availableProcessors());
        assertThat(own).isEqualTo(Fingerprint.ofHost(onHost(2), 1));
    }

    @Test
    void unknownModelsAndProcessorsAreNotCompared() {
        List<String> backends = TWO_GPUS.backends();
        for (Fingerprint other : List.of(
                TWO_GPUS,
                new Fingerprint("cuda", "", 132, 2, 1, 2, backends),
                new Fingerprint("cuda", "sm_90", 0, 2, 1, 2, backends),
                new Fingerprint("cuda", "", 0, 2, 1, 2, backends))) {
            assertThat(TWO_GPUS.matches(other)).as(other.text()).isTrue();
            assertThat(other.matches(TWO_GPUS)).as(other.text()).isTrue();
        }
    }

    static Stream<Fingerprint> others() {
        List<String> backends = TWO_GPUS.backends();
        return Stream.of(
                new Fingerprint("hip", "sm_90", 132, 2, 1, 2, backends),
                new Fingerprint("cuda", "sm_100", 132, 2, 1, 2, backends),
                new Fingerprint("cuda", "sm_90", 114, 2, 1, 2, backends),
                new Fingerprint("cuda", "sm_90", 132, 4, 1, 2, backends),
                new Fingerprint("cuda", "sm_90", 132, 2, 2, 2, backends),
                new Fingerprint("cuda", "sm_90", 132, 2, 1, 1, backends),
                new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of()),
                new Fingerprint("cuda", "", 0, 2, 1, 2, List.of(Machines.POSTED)));
    }

    @ParameterizedTest
    @MethodSource("others")
    void everythingElseMustBeEqual(Fingerprint other) {
        assertThat(TWO_GPUS.matches(other)).isFalse();
        assertThat(other.matches(TWO_GPUS)).isFalse();
    }

    @Test
    void theTextSaysWhatIsKnown() {
        assertThat(new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink")).text())
                .isEqualTo("cuda sm_90 with 132 multiprocessors, 2 ranks on 1 host and 2 GPUs, ipc-nvlink");
        assertThat(new Fingerprint("hip", "gfx942", 0, 8, 2, 1, List.of("ibrc-multiqp", "rocm")).text())
                .isEqualTo("hip gfx942, 8 ranks on 2 hosts and 1 GPU, ibrc-multiqp, rocm");
        assertThat(new Fingerprint("host", "AMD EPYC 9654", 16, 1, 1, 1, List.of()).text())
                .isEqualTo("host AMD EPYC 9654 with 16 processors, 1 rank on 1 host");
        assertThat(new Fingerprint("host", "", 1, 2, 1, 1, List.of("host-shm")).text())
                .isEqualTo("host with 1 processor, 2 ranks on 1 host, host-shm");
    }

    @Test
    void aLoneRankHasNoBackends() {
        RankProfile alone = Machines.rank(0, "h0", Machines.gpu(3, List.of()), Map.of());
        assertThat(Fingerprint.ofGpu(plan(List.of(alone)), 0, "sm_90", 132))
                .isEqualTo(new Fingerprint("cuda", "sm_90", 132, 1, 1, 1, List.of()));
    }
}
