package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.EpPath;
import org.ep4j.cli.plan.Machines.Joined;
import org.ep4j.cli.plan.Machines.NicKind;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which backend each kind of machine gets, and what is said of the others. */
@Tag("verify")
final class PlannedBackendTest {
    private static final List<PlannedBackend> BACKENDS = PlannedBackend.all();

    private static GroupPlan plan(Topology machine, SimulatedRanks.Options options) {
        SimulatedRanks ranks = Machines.ranks(machine, BACKENDS, options);
        return Planner.plan(
                ranks.profiles(),
                BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                BackendChoice.AUTO);
    }

    private static GroupPlan plan(Topology machine, int hosts) {
        return plan(machine, SimulatedRanks.Options.AS_DESCRIBED.withHosts(hosts));
    }

    /** Ranks are on two hosts of two: 0 and 1, 2 and 3. */
    private static EpPath inside(GroupPlan plan) {
        return plan.path(0, 1);
    }

    private static EpPath across(GroupPlan plan) {
        return plan.path(0, plan.ranks() - 1);
    }

    private static String reason(EpPath path, String backend) {
        return path.rejected().stream()
                .filter(text -> text.startsWith(backend + ":"))
                .findFirst()
                .orElse("");
    }

    @Test
    void nvlinkAndConnectXGiveMappedMemoryInsideAndTheGpusOwnPostsAcross() {
        GroupPlan plan = plan(
                Machines.gpus(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(NicKind.of(NicFamily.MLX5, 1, 400))), 2);
        assertThat(inside(plan).backend()).isEqualTo("ipc-nvlink");
        assertThat(inside(plan).kind()).isEqualTo(EpPath.Kind.MAPPED);
        assertThat(across(plan).backend()).isEqualTo("nvshmem-ibgda");
        assertThat(across(plan).kind()).isEqualTo(EpPath.Kind.DEVICE_POSTED);
        assertThat(across(plan).offeredNics()).containsExactly("mlx5_0_0:1");
        assertThat(reason(across(plan), "ipc-nvlink")).contains("different hosts", "NVLink domain", "IMEX");
        assertThat(reason(across(plan), "host-shm")).contains("is not the host");
        assertThat(reason(across(plan), "rocm")).contains("cuda", "not an AMD GPU");
    }

    @Test
    void nvlinkAndEfaGiveLibfabricAcross() {
        GroupPlan plan = plan(
                Machines.gpus(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(NicKind.of(NicFamily.EFA, 4, 100))), 2);
        assertThat(inside(plan).backend()).isEqualTo("ipc-nvlink");
        assertThat(across(plan).backend()).isEqualTo("efa");
        assertThat(across(plan).staged()).isFalse();
        assertThat(across(plan).offeredNics()).hasSize(4);
        assertThat(across(plan).gigabytesPerSecond()).isBetween(40.0, 50.0);
        assertThat(reason(across(plan), "nvshmem-ibgda")).contains("no mlx5 NIC", "EFA");
        assertThat(reason(across(plan), "ibrc-multiqp")).contains("mlx5, bnxt, ionic, irdma", "EFA");
    }

    @ParameterizedTest
    @EnumSource(names = {"BNXT", "IONIC", "IRDMA"})
    void otherVerbsNicsAreDrivenByAHostThread(NicFamily family) {
        for (GpuVendor vendor : List.of(GpuVendor.NVIDIA, GpuVendor.AMD)) {
            boolean amd = vendor == GpuVendor.AMD;
            GroupPlan plan = plan(
                    Machines.gpus(2, vendor, amd ? Joined.XGMI : Joined.NVSWITCH, List.of(NicKind.of(family, 1, 400))),
                    2);
            assertThat(inside(plan).backend()).isEqualTo(amd ? "rocm" : "ipc-nvlink");
            assertThat(across(plan).backend()).isEqualTo("ibrc-multiqp");
            assertThat(across(plan).kind()).isEqualTo(EpPath.Kind.HOST_POSTED);
        }
    }

    @Test
    void amdGpusWithConnectXUseAHostThreadBecauseIbgdaIsForNvidia() {
        GroupPlan plan =
                plan(Machines.gpus(2, GpuVendor.AMD, Joined.XGMI, List.of(NicKind.of(NicFamily.MLX5, 1, 400))), 2);
        assertThat(inside(plan).backend()).isEqualTo("rocm");
        assertThat(across(plan).backend()).isEqualTo("ibrc-multiqp");
        assertThat(reason(across(plan), "nvshmem-ibgda")).contains("device hip is not an NVIDIA GPU");
        assertThat(reason(across(plan), "rocm")).contains("different hosts", "add a NIC backend");
    }

    @Test
    void oneNvlinkDomainOverHostsNeedsNoNicInsideIt() {
        Topology machine = Machines.inClique(4, "uuid/1", List.of(NicKind.of(NicFamily.MLX5, 1, 400)));
        GroupPlan two = plan(machine, 2);
        assertThat(two.backends()).containsExactly("ipc-nvlink");
        GroupPlan split = plan(machine, new SimulatedRanks.Options(2, 0, 1, GpuLinks.AUTO, ""));
        assertThat(inside(split).backend()).isEqualTo("ipc-nvlink");
        assertThat(across(split).backend()).isEqualTo("nvshmem-ibgda");
    }

    @Test
    void nvidiaGpusWithoutNvlinkInDifferentPcieTreesTakeAnotherWay() {
        GroupPlan plan = plan(Machines.gpus(2, GpuVendor.NVIDIA, Joined.NOT, List.of()), 1);
        assertThat(inside(plan).backend()).isEqualTo("efa");
        assertThat(inside(plan).staged()).isTrue();
        assertThat(reason(inside(plan), "host-shm")).contains("device cuda:0 is not the host");
        assertThat(reason(inside(plan), "ipc-nvlink")).contains("no NVLink", "PHB", "PXB");
    }

    @Test
    void amdGpusWithoutXgmiReachEachOtherByPcie() {
        GroupPlan plan = plan(Machines.gpus(2, GpuVendor.AMD, Joined.NOT, List.of()), 1);
        assertThat(inside(plan).backend()).isEqualTo("rocm");
        assertThat(inside(plan).latencyMicros())
                .isGreaterThan(inside(plan(Machines.gpus(2, GpuVendor.AMD, Joined.XGMI, List.of()), 1))
                        .latencyMicros());
    }

    @Test
    void withoutAnyNicHostsAreConnectedBySocketsForCorrectnessAlone() {
        GroupPlan plan = plan(Machines.gpus(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of()), 2);
        assertThat(across(plan).backend()).isEqualTo("efa");
        assertThat(across(plan).staged()).isTrue();
        assertThat(across(plan).gigabytesPerSecond()).isLessThan(5);
        assertThat(reason(across(plan), "nvshmem-ibgda")).contains("no mlx5 NIC", "none");
    }

    @Test
    void aNicThatIsTooFarForGpuDirectIsStagedAndNeverPostedToByTheGpu() {
        GroupPlan plan = plan(
                Machines.farNics(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(NicKind.of(NicFamily.MLX5, 1, 400))), 2);
        assertThat(across(plan).backend()).isEqualTo("ibrc-multiqp");
        assertThat(across(plan).staged()).isTrue();
        assertThat(reason(across(plan), "nvshmem-ibgda")).contains("PHB", "GPUDirect", "one PCIe switch");
    }

    @Test
    void aNicThatCannotDoGpuDirectIsStaged() {
        GroupPlan plan = plan(
                Machines.gpus(
                        2,
                        GpuVendor.NVIDIA,
                        Joined.NVSWITCH,
                        List.of(NicKind.of(NicFamily.MLX5, 1, 400).withoutGpuDirect())),
                2);
        assertThat(across(plan).backend()).isEqualTo("ibrc-multiqp");
        assertThat(across(plan).staged()).isTrue();
    }

    @Test
    void aPortThatIsDownIsNoPort() {
        GroupPlan plan = plan(
                Machines.gpus(
                        2,
                        GpuVendor.NVIDIA,
                        Joined.NVSWITCH,
                        List.of(NicKind.of(NicFamily.MLX5, 1, 400).down())),
                2);
        assertThat(across(plan).backend()).isEqualTo("efa");
        assertThat(reason(across(plan), "nvshmem-ibgda")).contains("port that is up");
    }

    @Test
    void anExpertCanKeepEverythingOnTheNicsOfOneHost() {
        Topology machine =
                Machines.gpus(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(NicKind.of(NicFamily.MLX5, 1, 400)));
        SimulatedRanks ranks = Machines.ranks(machine, BACKENDS, SimulatedRanks.Options.AS_DESCRIBED);
        GroupPlan plan = Planner.plan(
                ranks.profiles(),
                BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                new BackendChoice(List.of("ibrc-multiqp"), List.of(), List.of()));
        assertThat(plan.backends()).containsExactly("ibrc-multiqp");
    }

    @Test
    void softwareVerbsServeHostsAndGpus() {
        NicKind rxe = NicKind.of(NicFamily.RXE, 1, 10);
        assertThat(across(plan(Machines.hostOnly(List.of(rxe)), 2)).backend()).isEqualTo("ibrc-multiqp");
        GroupPlan gpus = plan(Machines.gpus(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(rxe)), 2);
        assertThat(across(gpus).backend()).isEqualTo("ibrc-multiqp");
    }

    @ParameterizedTest
    @EnumSource(Objective.class)
    void linksBetweenGpusAreTakenForEveryObjectiveAlsoWhereOneNicIsFasterThanOneLink(Objective objective) {
        Topology machine = Machines.gpus(8, GpuVendor.AMD, Joined.XGMI, List.of(NicKind.of(NicFamily.MLX5, 1, 400)));
        GroupPlan plan = Planner.plan(
                Machines.ranks(machine, BACKENDS, SimulatedRanks.Options.AS_DESCRIBED.withHosts(2))
                        .profiles(),
                BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, objective));
        assertThat(inside(plan).backend()).isEqualTo("rocm");
        assertThat(across(plan).backend()).isEqualTo("ibrc-multiqp");
    }

    @Test
    void slingshotIsServedByLibfabric() {
        GroupPlan plan =
                plan(Machines.gpus(2, GpuVendor.AMD, Joined.XGMI, List.of(NicKind.of(NicFamily.CXI, 1, 200))), 2);
        assertThat(across(plan).backend()).isEqualTo("efa");
        assertThat(across(plan).gigabytesPerSecond()).isBetween(20.0, 25.0);
    }

    @Test
    void infiniBandDoesNotSpeakToEthernet() {
        NicKind nic = NicKind.of(NicFamily.MLX5, 1, 400);
        List<SimulatedRanks> sides = List.of(
                one(Machines.gpus(1, GpuVendor.NVIDIA, Joined.NOT, List.of(nic.layer(LinkLayer.INFINIBAND)))),
                one(Machines.gpus(1, GpuVendor.NVIDIA, Joined.NOT, List.of(nic.layer(LinkLayer.ETHERNET)))));
        PlannedBackend verbs = BACKENDS.stream()
                .filter(backend -> backend.id().equals("ibrc-multiqp"))
                .findFirst()
                .orElseThrow();
        var offer = verbs.offer()
                .apply(sides.get(0).profiles().get(0), sides.get(1).profiles().get(0));
        assertThat(offer.toString()).contains("InfiniBand", "Ethernet");
    }

    private static SimulatedRanks one(Topology machine) {
        return Machines.ranks(machine, BACKENDS, SimulatedRanks.Options.AS_DESCRIBED);
    }

    /** H200, GB200 and GB300. */
    @ParameterizedTest
    @CsvSource({"2335, sm_90", "2941, sm_100", "31c2, sm_103"})
    void gpusThatAreAlwaysJoinedAreJoinedWhereTheDescriptionIsSilent(String device, String architecture) {
        Topology machine = Machines.ofModel(4, Integer.parseInt(device, 16));
        SimulatedRanks ranks = one(machine);
        assertThat(ranks.assumptions()).singleElement().asString().contains("NVLink", "10de:" + device);
        assertThat(ranks.profiles())
                .allSatisfy(rank -> assertThat(rank.locality().architecture()).isEqualTo(architecture));
        assertThat(inside(plan(machine, 1)).backend()).isEqualTo("ipc-nvlink");
        GroupPlan asWritten = plan(machine, new SimulatedRanks.Options(1, 0, 0, GpuLinks.FILE, ""));
        assertThat(inside(asWritten).backend()).isEqualTo("efa");
    }

    @Test
    void gpusOfAnUnknownModelAreNotJoinedWhereTheDescriptionIsSilent() {
        Topology machine = Machines.ofModel(4, 0x2231);
        assertThat(one(machine).assumptions()).singleElement().asString().contains("may have none", "--gpu-links all");
        assertThat(inside(plan(machine, 1)).backend()).isEqualTo("efa");
    }

    @Test
    void aGpuWithoutLinksAmongOthersThatHaveSomeIsNamed() {
        String links = "<nvlink target='fffffff:ffff:ff' count='18' tclass='0x068000'/>";
        String gpus = IntStream.range(0, 4)
                .mapToObj(i -> "<pci busid='0000:0" + (i + 1) + ":00.0' class='0x030200'><gpu dev='" + i + "' sm='90'>"
                        + (i == 2 ? "" : links) + "</gpu></pci>")
                .collect(Collectors.joining());
        Topology machine = Topologies.read("partly", "<system version='1'><cpu numaid='0'>" + gpus + "</cpu></system>");
        assertThat(one(machine).assumptions())
                .singleElement()
                .asString()
                .contains(
                        "links of other GPUs, but no links of GPU2 (0000:03:00.0)", "without links", "--gpu-links all");
        GroupPlan plan = plan(machine, 1);
        assertThat(plan.path(0, 1).backend()).isEqualTo("ipc-nvlink");
        assertThat(plan.path(0, 2).backend()).isNotEqualTo("ipc-nvlink");

        GroupPlan joined = plan(machine, new SimulatedRanks.Options(1, 0, 0, GpuLinks.ALL, ""));
        assertThat(joined.path(0, 2).backend()).isEqualTo("ipc-nvlink");
    }

    @Test
    void hostsWithoutAcceleratorsShareMemoryInsideAndSocketsAcross() {
        GroupPlan plan = plan(Machines.hostOnly(List.of()), new SimulatedRanks.Options(2, 2, 0, GpuLinks.AUTO, ""));
        assertThat(inside(plan).backend()).isEqualTo("host-shm");
        assertThat(inside(plan).staged()).isFalse();
        assertThat(across(plan).backend()).isEqualTo("efa");
    }

    @Test
    void everyRefusalSaysWhatToDo() {
        for (NicFamily family : NicFamily.values()) {
            for (GpuVendor vendor : List.of(GpuVendor.NVIDIA, GpuVendor.AMD)) {
                GroupPlan plan = plan(
                        Machines.gpus(
                                2,
                                vendor,
                                vendor == GpuVendor.AMD ? Joined.XGMI : Joined.NVSWITCH,
                                List.of(NicKind.of(family, 1, 100))),
                        2);
                for (EpPath path : List.of(inside(plan), across(plan))) {
                    assertThat(path.rejected())
                            .allSatisfy(text -> assertThat(text).containsAnyOf("(", "slower", "chosen last"));
                    assertThat(path.rejected().size() + 1).isEqualTo(BACKENDS.size());
                }
            }
        }
    }

    @Test
    void offersDependOnNothingButTheTwoPlaces() {
        Topology machine =
                Machines.gpus(2, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(NicKind.of(NicFamily.MLX5, 2, 200)));
        GroupPlan plan = plan(machine, 4);
        IntStream.range(1, 4).forEach(h -> assertThat(plan.offer(0, 2 * h)).isEqualTo(plan.offer(0, 2)));
    }
}
