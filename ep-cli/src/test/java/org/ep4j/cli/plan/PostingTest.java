package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpShape;
import org.ep4j.cli.RealMachineFiles;
import org.ep4j.cli.plan.PlanReport.Posting;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.plan.Objective;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What plans say of paths that host threads post to: backend, NICs and proxies of a GPU, and flow control. */
@Tag("verify")
final class PostingTest {
    private static final String EFA = "256 writes of high throughput, 1024 of low latency (AWS EFA)";
    private static final String THOR = "1.5 MiB, 32 writes of high throughput, 1024 of low latency (Broadcom Thor-2)";
    private static final String POLLARA = "2.0 MiB, 32 writes of high throughput, 1024 of low latency (AMD Pollara)";

    private static final String NEAR = "GPU, where NICs register it";
    private static final String AMD = "host, pinned; GPU by ep.gpu.window=device";

    @TempDir
    private Path folder;

    private static PlanReport plan(Topology machine, Map<String, String> settings) {
        return plan(machine, settings, GpuLinks.ALL);
    }

    private static PlanReport plan(Topology machine, Map<String, String> settings, GpuLinks links) {
        PlanSettings checked = PlanSettings.of(settings);
        checked.check();
        return PlanAnalysis.of(
                machine,
                new PlanRequest(
                        new SimulatedRanks.Options(2, 0, 0, links, ""),
                        checked,
                        List.of(),
                        Objective.BALANCED,
                        EpShape.builder(7168, 256, 8)
                                .maxTokens(4096)
                                .maxLowLatencyTokens(128)
                                .build(),
                        false,
                        1,
                        1,
                        false,
                        Optional.empty()));
    }

    /** Two GPUs, each with NICs below a switch of its own, on a host of {@code processors}. */
    private Topology machine(String gpu, String nic, int nics, String processors) throws Exception {
        StringBuilder xml = new StringBuilder("<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" affinity=\"")
                .append(processors)
                .append("\">\n");
        int number = 0;
        for (int g = 0; g < 2; g++) {
            String bus = "0000:" + (g + 1);
            xml.append("<pci busid=\"" + bus
                    + "0:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n");
            xml.append("<pci busid=\"" + bus + "1:00.0\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\" "
                    + gpu.replace("DEV", String.valueOf(g)) + "</pci>\n");
            for (int n = 0; n < nics; n++) {
                xml.append("<pci busid=\"" + bus + (n + 2) + ":00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\""
                        + " link_width=\"16\" " + nic + "><nic><net name=\"nic" + number + "\" dev=\"" + number
                        + "\" speed=\"200000\" port=\"1\" guid=\"0x" + number + "\" gdr=\"1\"/></nic></pci>\n");
                number++;
            }
            xml.append("</pci>\n");
        }
        xml.append("</cpu></system>\n");
        Path file = folder.resolve("machine.xml");
        return Topologies.read(Files.writeString(file, xml));
    }

    private static String nvidia(int device, int sm) {
        return "class=\"0x030200\" vendor=\"0x10de\" device=\"0x" + Integer.toHexString(device)
                + "\"><gpu dev=\"DEV\" sm=\"" + sm + "\" rank=\"DEV\" gdr=\"1\"/>";
    }

    private static String amd(int device, String architecture) {
        return "class=\"0x120000\" vendor=\"0x1002\" device=\"0x" + Integer.toHexString(device)
                + "\"><gpu dev=\"DEV\" gcn=\"" + architecture + "\" rank=\"DEV\" gdr=\"1\"/>";
    }

    @Test
    void hopperWithEfa() throws Exception {
        Topology machine = machine(nvidia(0x2330, 90), "vendor=\"0x1d0f\" device=\"0xefa1\"", 4, "ffffffff,ffffffff");
        assertThat(plan(machine, Map.of()).posting())
                .containsExactly(new Posting("efa", List.of(0, 1), 4, 8, NEAR, EFA));
    }

    @Test
    void blackwellWithEfa() throws Exception {
        Topology machine = machine(nvidia(0x2901, 100), "vendor=\"0x1d0f\" device=\"0xefa3\"", 1, "ffffffff,ffffffff");
        assertThat(plan(machine, Map.of()).posting())
                .containsExactly(new Posting("efa", List.of(0, 1), 1, 1, NEAR, EFA));
    }

    @Test
    void instinctWithThor2() throws Exception {
        Topology machine = machine(amd(0x74a1, "gfx942"), "vendor=\"0x14e4\" device=\"0x1760\"", 1, "ffffffff");
        assertThat(plan(machine, Map.of()).posting())
                .containsExactly(new Posting("ibrc-multiqp", List.of(0, 1), 1, 4, AMD, THOR));
    }

    @Test
    void instinctBoardsAreJoinedByXgmiWhereADescriptionLeavesThatOut() throws Exception {
        Topology machine = machine(amd(0x74a1, "gfx942"), "vendor=\"0x14e4\" device=\"0x1760\"", 1, "ffffffff");
        assertThat(plan(machine, Map.of(), GpuLinks.AUTO).assumptions())
                .anyMatch(text -> text.contains("GPUs of this model (1002:74a1) are always joined by xGMI"));
    }

    @Test
    void instinctWithPollara() throws Exception {
        Topology machine = machine(amd(0x75a3, "gfx950"), "vendor=\"0x1dd8\" device=\"0x1002\"", 1, "ffffffff");
        PlanReport report = plan(machine, Map.of());
        assertThat(report.posting()).containsExactly(new Posting("ibrc-multiqp", List.of(0, 1), 1, 4, AMD, POLLARA));
        assertThat(report.assumptions()).noneMatch(text -> text.contains("EP-IBR-001"));
        assertThat(PlanTables.of(report)).contains("Posting to NICs", "0-1  ibrc-multiqp", POLLARA, "proxy threads");
    }

    @Test
    void aNicOfUnknownFamilyIsReportedWithTheConsequence() throws Exception {
        Topology machine = machine(nvidia(0x2330, 90), "vendor=\"0xabcd\" device=\"0x0001\"", 1, "ffffffff");
        PlanReport report = plan(machine, Map.of());
        assertThat(report.posting()).extracting(Posting::flow).containsExactly("no limit");
        assertThat(report.assumptions())
                .anyMatch(text -> text.contains("a NIC of unknown family, so the plan has no default limits"));
        assertThat(PlanTables.of(report)).contains("NICs here: RDMA of an unknown kind");
    }

    @Test
    void aRankHasNoMoreProxiesThanProcessors() throws Exception {
        Topology machine = machine(nvidia(0x2330, 90), "vendor=\"0x1d0f\" device=\"0xefa1\"", 1, "0000003f");
        PlanReport report = plan(machine, Map.of());
        assertThat(report.posting()).extracting(Posting::proxies).containsExactly(3);
        assertThat(report.sizes().proxiesPerHost()).isEqualTo(6);
    }

    @Test
    void theSettingHolds() throws Exception {
        Topology machine = machine(nvidia(0x2330, 90), "vendor=\"0x1d0f\" device=\"0xefa1\"", 1, "0000003f");
        assertThat(plan(machine, Map.of("ep.proxy.threads", "5")).posting())
                .extracting(Posting::proxies)
                .containsExactly(5);
    }

    @Test
    void memoryIsThatOfTheHostWhereItIsSetOrNicsAreFar() throws Exception {
        Topology near = machine(nvidia(0x2330, 90), "vendor=\"0x1d0f\" device=\"0xefa1\"", 1, "ffffffff");
        assertThat(plan(near, Map.of("ep.gpu.window", "host")).posting())
                .extracting(Posting::memory)
                .containsExactly("host, pinned (ep.gpu.window)");
        Topology far = Topologies.read(Files.writeString(
                folder.resolve("far.xml"),
                "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" affinity=\"ffffffff\">"
                        + "<pci busid=\"0000:10:00.0\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\" "
                        + nvidia(0x2330, 90).replace("DEV", "0")
                        + "</pci><pci busid=\"0000:20:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\""
                        + " link_width=\"16\" vendor=\"0x1d0f\" device=\"0xefa1\"><nic><net name=\"nic0\" dev=\"0\""
                        + " speed=\"200000\" port=\"1\" guid=\"0x1\" gdr=\"1\"/></nic></pci></cpu></system>"));
        assertThat(plan(far, Map.of()).posting())
                .extracting(Posting::memory)
                .containsExactly("host, pinned: nic0 is far (PHB)");
    }

    @Test
    void whereGpusPostNoThreadDoes() throws Exception {
        Topology machine = machine(nvidia(0x2330, 90), "vendor=\"0x15b3\" device=\"0x1021\"", 1, "ffffffff");
        assertThat(plan(machine, Map.of()).posting())
                .containsExactly(
                        new Posting("nvshmem-ibgda", List.of(0, 1), 1, 0, "GPU, which posts itself", "no limit"));
    }

    /** The NIC reaches the memory of one GPU of each host. */
    @Test
    void aGpuWhoseKernelsPostExchangesWithOtherPeersThroughTheSameMemory() {
        Topology machine = Topologies.read("matrix", "\tGPU0\tGPU1\tmlx5_0\nGPU0\tX\tNODE\tPIX\nGPU1\tNODE\tX\tNODE\n");
        assertThat(plan(machine, Map.of()).posting())
                .extracting(Posting::backend, Posting::ranks, Posting::memory)
                .containsExactly(
                        tuple("nvshmem-ibgda", List.of(0), "GPU, which posts itself"),
                        tuple("ibrc-multiqp", List.of(0), "GPU, from which kernels post to other peers"),
                        tuple("ibrc-multiqp", List.of(1), "host, pinned: mlx5_0 is far (NODE)"));
        PlanReport pinned = plan(machine, Map.of("ep.gpu.window", "host"));
        assertThat(pinned.posting())
                .extracting(Posting::backend, Posting::ranks, Posting::memory)
                .containsExactly(tuple("ibrc-multiqp", List.of(0, 1), "host, pinned (ep.gpu.window)"));
        assertThat(PlanTables.of(pinned)).contains("a GPU cannot combine device-posted paths with host-posted paths");
    }

    @ParameterizedTest
    @CsvSource({
        "nvshmem-ibgda, 0x15b3, 0x1021",
        "ibrc-multiqp, 0x15b3, 0x1021",
        "ibrc-multiqp, 0x14e4, 0x1760",
        "efa, 0x1d0f, 0xefa1"
    })
    void limitsThatAreSetHoldForEveryBackend(String backend, String vendor, String device) throws Exception {
        Topology machine =
                machine(nvidia(0x2330, 90), "vendor=\"" + vendor + "\" device=\"" + device + "\"", 1, "ffffffff");
        Map<String, String> settings = Map.of(
                "ep.backend.prefer",
                backend,
                "ep.nic.max-inflight-bytes",
                "4MiB",
                "ep.nic.max-inflight-writes",
                "8",
                "ep.nic.max-inflight-messages",
                "1");
        assertThat(plan(machine, settings).posting()).singleElement().satisfies(posting -> {
            assertThat(posting.backend()).isEqualTo(backend);
            assertThat(posting.flow())
                    .isEqualTo("4.0 MiB, 8 writes of high throughput, 1 of low latency (ep.nic.max-inflight-bytes,"
                            + " ep.nic.max-inflight-writes, ep.nic.max-inflight-messages)");
        });
    }

    @ParameterizedTest
    @CsvSource({
        "hwloc-xml/ai-dynamo__nixl__p5.48xl-topo.xml, efa, 4, 8, (AWS EFA)",
        "hwloc-xml/ai-dynamo__nixl__p5en.48xl-topo.xml, efa, 2, 8, (AWS EFA)",
        "hwloc-xml/ai-dynamo__nixl__p6-b200.48xl-topo.xml, efa, 1, 1, (AWS EFA)",
        "nccl-xml/ROCm__rccl__topo_8p_940.xml, ibrc-multiqp, 1, 4, no limit",
        "nccl-xml/meta-pytorch__torchcomms__topo_8p_950.xml, ibrc-multiqp, 1, 4, (Broadcom Thor-2)",
    })
    void realMachines(String file, String backend, int nics, int proxies, String flow) {
        PlanReport report = plan(Topologies.read(RealMachineFiles.required().resolve(file)), Map.of());
        assertThat(report.posting()).singleElement().satisfies(posting -> {
            assertThat(posting.backend()).isEqualTo(backend);
            assertThat(posting.ranks()).hasSize(8);
            assertThat(posting.nics()).isEqualTo(nics);
            assertThat(posting.proxies()).isEqualTo(proxies);
            assertThat(posting.flow()).endsWith(flow);
        });
    }
}
