package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.function.BiFunction;
import org.ep4j.ExpertPlacement;
import org.ep4j.cli.plan.Machines.Joined;
import org.ep4j.cli.plan.Machines.NicKind;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.forecast.Exchange;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Exchange.Mode;
import org.ep4j.plan.forecast.Forecast;
import org.ep4j.plan.forecast.Forecast.Operation;
import org.ep4j.plan.forecast.Forecast.ResourceLoad;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The linear model: what moves it, and by how much. */
@Tag("verify")
final class ForecastTest {
    private static final List<PlannedBackend> BACKENDS = PlannedBackend.all();
    private static final int EXPERTS = 256;
    private static final long ROW = 14336;

    private static Topology machine(int nicsPerGpu, double gigabits) {
        return Machines.gpus(
                8, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(NicKind.of(NicFamily.MLX5, nicsPerGpu, gigabits)));
    }

    private static GroupPlan plan(Topology machine, int hosts) {
        return Planner.plan(
                Machines.ranks(machine, BACKENDS, SimulatedRanks.Options.AS_DESCRIBED.withHosts(hosts))
                        .profiles(),
                BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.AUTO);
    }

    private static Exchange exchange(Mode mode, int tokens) {
        return new Exchange(mode, tokens, EXPERTS, 8, ROW, ROW, Messages.PER_RANK, Messages.PER_RANK, 1, 1);
    }

    private static Forecast forecast(GroupPlan plan, Exchange exchange, Operation operation) {
        return Forecast.ofBoth(plan, exchange, ExpertPlacement.block(EXPERTS, plan.ranks()))
                .get(operation);
    }

    @ParameterizedTest
    @CsvSource({"HIGH_THROUGHPUT,1", "HIGH_THROUGHPUT,4", "LOW_LATENCY,1", "LOW_LATENCY,4"})
    void moreTokensTakeLongerAndNoneTakeTheLatencyAlone(Mode mode, int hosts) {
        GroupPlan plan = plan(machine(1, 400), hosts);
        for (Operation operation : Operation.values()) {
            Forecast none = forecast(plan, exchange(mode, 0), operation);
            assertThat(none.micros()).isEqualTo(none.latencyMicros()).isPositive();
            assertThat(none.bottleneck()).isEqualTo("latency");
            double before = none.micros();
            for (int tokens : new int[] {1, 64, 4096, 65536}) {
                double now = forecast(plan, exchange(mode, tokens), operation).micros();
                assertThat(now).isGreaterThan(before);
                before = now;
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"HIGH_THROUGHPUT", "LOW_LATENCY"})
    void moreOrFasterNicsAreNeverSlower(Mode mode) {
        double before = Double.MAX_VALUE;
        for (Topology machine : List.of(machine(1, 100), machine(1, 200), machine(2, 200), machine(4, 200))) {
            double now = forecast(plan(machine, 4), exchange(mode, 4096), Operation.DISPATCH)
                    .micros();
            assertThat(now).isLessThanOrEqualTo(before);
            before = now;
        }
    }

    @Test
    void onEqualHostsEveryResourceOfAKindCarriesTheSame() {
        for (Mode mode : Mode.values()) {
            Forecast forecast = forecast(plan(machine(2, 200), 4), exchange(mode, 4096), Operation.DISPATCH);
            // 32 GPUs and 64 ports, out and in.
            assertThat(forecast.loads()).hasSize(32 * 2 + 64 * 2);
            for (String kind : List.of("NVLINK", "mlx5")) {
                List<ResourceLoad> alike = forecast.loads().stream()
                        .filter(load -> load.resource().startsWith(kind))
                        .toList();
                assertThat(alike)
                        .allSatisfy(load ->
                                assertThat(load.bytes()).isCloseTo(alike.get(0).bytes(), within(1.0)));
            }
        }
    }

    @Test
    void partitionsShareTheLinksOfTheirPackages() {
        double whole = 0;
        for (int partitions : new int[] {1, 2, 4}) {
            Forecast forecast = forecast(
                    plan(packages(4, partitions), 1), exchange(Mode.HIGH_THROUGHPUT, 4096), Operation.DISPATCH);
            List<ResourceLoad> links = forecast.loads().stream()
                    .filter(load ->
                            load.resource().contains(partitions == 1 ? "XGMI from rank" : "XGMI from the package"))
                    .toList();
            assertThat(links).hasSize(4 * 3);
            double most = links.stream().mapToDouble(ResourceLoad::micros).max().orElseThrow();
            whole = partitions == 1 ? most : whole;
            // Every partition has as many tokens as a whole GPU, and more ranks make a token less likely to meet two
            // experts of one.
            assertThat(most).isBetween(partitions * whole, 2 * partitions * whole);
        }
    }

    @Test
    void whatGpusPassOnLoadsTheLinksOnTheWay() {
        List<ResourceLoad> mesh = xgmi(4, (i, j) -> "15");
        List<ResourceLoad> ring = xgmi(4, (i, j) -> Math.abs(i - j) == 2 ? "30" : "15");

        assertThat(mesh).hasSize(12);
        double direct = mesh.get(0).bytes();
        // Beside its own pair, each link of a ring is on the way of two pairs, half of whose bytes go the other way
        // round.
        assertThat(ring).hasSize(8).allSatisfy(load -> assertThat(load.bytes()).isCloseTo(2 * direct, within(1.0)));
    }

    @ParameterizedTest
    @EnumSource(Mode.class)
    void gpusThatPassOnForOthersAreNotSlowerThanTheirNics(Mode mode) {
        Topology machine = packagesInPairs();
        assertThat(machine.gpus())
                .allSatisfy(gpu -> assertThat(machine.gpus().stream()
                                .map(other -> machine.distance(gpu, other)
                                        .orElseThrow()
                                        .type()))
                        .containsOnly(PathType.LOC, PathType.NVL, PathType.NVB)
                        .contains(PathType.NVB));

        GroupPlan linked = plan(machine, 1);
        assertThat(linked.backends()).containsExactly("rocm");
        Forecast forecast = forecast(linked, exchange(mode, 4096), Operation.DISPATCH);
        assertThat(forecast.loads())
                .extracting(ResourceLoad::resource)
                .allMatch(resource -> resource.startsWith("XGMI"));
        double micros = forecast.micros();
        BackendChoice nics = new BackendChoice(List.of("ibrc-multiqp"), List.of(), List.of());
        for (GpuLinks links : List.of(GpuLinks.FILE, GpuLinks.NONE)) {
            assertThat(micros)
                    .as("where NICs carry everything; links %s", links)
                    .isLessThan(forecast(plan(machine, links, nics), exchange(mode, 4096), Operation.DISPATCH)
                            .micros());
        }
        assertThat(micros)
                .as("over PCIe")
                .isLessThan(forecast(
                                plan(machine, GpuLinks.NONE, BackendChoice.AUTO),
                                exchange(mode, 4096),
                                Operation.DISPATCH)
                        .micros());
    }

    private static GroupPlan plan(Topology machine, GpuLinks links, BackendChoice choice) {
        return Planner.plan(
                Machines.ranks(machine, BACKENDS, new SimulatedRanks.Options(1, 0, 0, links, ""))
                        .profiles(),
                BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                choice);
    }

    /**
     * A machine in the manner of MI250X: four packages of two GPUs, which four links join, and one or two between packages; a NUMA
     * node for each package, and a NIC of 400 Gb/s beside each GPU.
     */
    private static Topology packagesInPairs() {
        int[][] links = {
            {0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 2, 1}, {1, 3, 1}, {4, 6, 1}, {5, 7, 1}, {0, 6, 2},
            {2, 4, 2}, {1, 5, 1}, {3, 7, 1}
        };
        StringBuilder text = new StringBuilder("<system version='1'>");
        String wide = " link_speed='32.0 GT/s PCIe' link_width='16'>";
        for (int i = 0; i < 8; i++) {
            text.append(
                    i % 2 > 0
                            ? ""
                            : "<cpu numaid='" + i / 2
                                    + "' arch='x86_64' vendor='AuthenticAMD' familyid='175' modelid='48'>");
            text.append("<pci busid='0000:" + i + "0:00.0' class='0x060400'" + wide);
            text.append("<pci busid='" + bus(i) + "' class='0x038000' vendor='0x1002' device='0x7408'" + wide);
            text.append("<gpu dev='" + i + "' gcn='gfx90a'>");
            for (int[] link : links) {
                if (link[0] == i || link[1] == i) {
                    text.append("<xgmi target='" + bus(link[0] + link[1] - i) + "' count='" + link[2]
                            + "' tclass='0x038000'/>");
                }
            }
            text.append("</gpu></pci><pci busid='0000:" + i + "2:00.0' class='0x020000' vendor='0x15b3' device='0x1021'"
                    + wide + "<nic><net name='mlx5_" + i + "' port='1' speed='400000'/></nic></pci></pci>");
            text.append(i % 2 > 0 ? "</cpu>" : "");
        }
        return Topologies.read("pairs", text + "</system>");
    }

    private static String bus(int gpu) {
        return "0000:" + gpu + "1:00.0";
    }

    private static List<ResourceLoad> xgmi(int gpus, BiFunction<Integer, Integer, String> weight) {
        Topology machine =
                Topologies.read("xgmi", table("Weight", gpus, weight) + table("Link Type", gpus, (i, j) -> "XGMI"));
        return forecast(plan(machine, 1), exchange(Mode.HIGH_THROUGHPUT, 4096), Operation.DISPATCH).loads().stream()
                .filter(load -> load.resource().startsWith("XGMI"))
                .toList();
    }

    private static Topology packages(int packages, int partitions) {
        int all = packages * partitions;
        return Topologies.read(
                "packages",
                table("Weight", all, (i, j) -> i / partitions == j / partitions ? "13" : "41")
                        + table("Link Type", all, (i, j) -> "XGMI"));
    }

    private static String table(String title, int gpus, BiFunction<Integer, Integer, String> value) {
        StringBuilder text = new StringBuilder("===== " + title + " between two GPUs =====\n");
        for (int i = 0; i < gpus; i++) {
            text.append(" GPU").append(i);
        }
        for (int i = 0; i < gpus; i++) {
            text.append("\nGPU").append(i);
            for (int j = 0; j < gpus; j++) {
                text.append(' ').append(i == j ? "0" : value.apply(i, j));
            }
        }
        return text + "\n\n";
    }

    @Test
    void aCombineCarriesWhatItsDispatchCarriedBackwards() {
        GroupPlan plan = plan(machine(1, 400), 4);
        Exchange exchange = exchange(Mode.HIGH_THROUGHPUT, 4096);
        assertThat(forecast(plan, exchange, Operation.COMBINE).micros())
                .isCloseTo(forecast(plan, exchange, Operation.DISPATCH).micros(), within(1e-6));
    }

    @Test
    void theBytesOfAMeasuredExchangeAreMet() {
        // 4 H200, 4096 tokens: 211.8 MB received a rank with those of its own, 158.7 MB without; 487 us at best.
        Topology four = Machines.gpus(4, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of());
        Forecast forecast = forecast(plan(four, 1), exchange(Mode.HIGH_THROUGHPUT, 4096), Operation.DISPATCH);
        assertThat(forecast.logicalBytes()).isCloseTo(211.8e6, within(0.5e6));
        assertThat(forecast.wireBytes()).isCloseTo(158.7e6, within(0.5e6));
        assertThat(forecast.micros()).isCloseTo(487, within(25.0));
        assertThat(forecast.wireGigabytesPerSecond()).isLessThan(370.8 * Estimates.GPU_LINK_EFFICIENCY);
        assertThat(forecast.bottleneck()).startsWith("NVLINK of rank");
    }

    @Test
    void acrossHostsATokenCrossesTheNetworkOncePerHostInHighThroughputAndOncePerRankInLowLatency() {
        GroupPlan plan = plan(machine(1, 400), 2);
        double once = port(forecast(plan, exchange(Mode.HIGH_THROUGHPUT, 1000), Operation.DISPATCH));
        double each = port(forecast(plan, exchange(Mode.LOW_LATENCY, 1000), Operation.DISPATCH));
        double reachesOtherHost = 1 - product(256, 128, 8);
        double ranksThere = 8 * (1 - product(256, 16, 8));
        assertThat(once).isCloseTo(1000 * ROW * reachesOtherHost, within(1.0));
        assertThat(each).isCloseTo(1000 * ROW * ranksThere, within(1.0));
        Exchange selections = new Exchange(
                Mode.LOW_LATENCY, 1000, EXPERTS, 8, ROW, ROW, Messages.PER_SELECTION, Messages.PER_SELECTION, 1, 1);
        assertThat(port(forecast(plan, selections, Operation.DISPATCH))).isCloseTo(1000 * ROW * 4.0, within(1.0));
    }

    /** Probability that {@code draws} of {@code all} miss {@code held}. */
    private static double product(int all, int held, int draws) {
        double missed = 1;
        for (int i = 0; i < draws; i++) {
            missed *= (double) (all - held - i) / (all - i);
        }
        return missed;
    }

    private static double port(Forecast forecast) {
        return forecast.loads().stream()
                .filter(load -> load.resource().startsWith("mlx5_0_0:1 of host-0, out"))
                .mapToDouble(ResourceLoad::bytes)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void groupLimitedRoutingReachesFewerHosts() {
        GroupPlan plan = plan(machine(1, 400), 8);
        Exchange free = exchange(Mode.HIGH_THROUGHPUT, 4096);
        Forecast limited = forecast(plan, free.grouped(8, 4), Operation.DISPATCH);
        assertThat(limited.micros())
                .isLessThan(forecast(plan, free, Operation.DISPATCH).micros());
        assertThat(limited.logicalDomainBytes()).isLessThan(4.0 * 4096 * ROW);
        assertThat(forecast(plan, free.grouped(8, 8), Operation.DISPATCH).micros())
                .isCloseTo(forecast(plan, free, Operation.DISPATCH).micros(), within(1e-6));
    }

    @Test
    void linksThatTwoGpusHaveForThemselvesAreCountedOneByOne() {
        Topology mesh = Machines.gpus(8, GpuVendor.AMD, Joined.XGMI, List.of());
        Forecast forecast = forecast(plan(mesh, 1), exchange(Mode.HIGH_THROUGHPUT, 4096), Operation.DISPATCH);
        assertThat(forecast.loads()).hasSize(56);
        assertThat(forecast.bottleneck()).startsWith("XGMI from rank");
    }

    @Test
    void bytesThatTakeADetourThroughHostMemoryAreSlower() {
        NicKind nic = NicKind.of(NicFamily.MLX5, 1, 400);
        Topology near = Machines.gpus(8, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(nic));
        Topology far = Machines.farNics(8, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(nic));
        Exchange exchange = exchange(Mode.HIGH_THROUGHPUT, 4096);
        assertThat(forecast(plan(far, 2), exchange, Operation.DISPATCH).micros())
                .isGreaterThan(
                        forecast(plan(near, 2), exchange, Operation.DISPATCH).micros());
    }
}
