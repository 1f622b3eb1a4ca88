package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.cli.doctor.DoctorRun;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Plans and doctor say what a group does with the same machine and the same settings. */
@Tag("verify")
final class OneSimulationTest {
    @TempDir
    private Path root;

    private void file(String path, String text) throws IOException {
        Path file = root.resolve(path.substring(1));
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private void link(String path, String to) throws IOException {
        Path link = root.resolve(path.substring(1));
        Files.createDirectories(link.getParent());
        Files.createSymbolicLink(link, link.getParent().relativize(root.resolve(to.substring(1))));
    }

    private void pci(String path, String vendor, String device, String kind) throws IOException {
        String folder = "/sys/devices/" + path;
        file(folder + "/vendor", "0x" + vendor);
        file(folder + "/device", "0x" + device);
        file(folder + "/class", "0x" + kind);
        file(folder + "/numa_node", "0");
        file(folder + "/max_link_speed", "32.0 GT/s PCIe");
        file(folder + "/max_link_width", "16");
        link("/sys/bus/pci/devices/" + path.substring(path.lastIndexOf('/') + 1), folder);
    }

    private void driver(String path, String name) throws IOException {
        Files.createDirectories(root.resolve("sys/bus/pci/drivers/" + name));
        link("/sys/devices/" + path + "/driver", "/sys/bus/pci/drivers/" + name);
    }

    /** GPUs, each with a RoCE NIC below its switch, whose interface has the address of 10.0.GPU.0/24, or none. */
    private Topology machine(int gpus, boolean addresses) throws IOException {
        StringBuilder routes = new StringBuilder("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n");
        file("/sys/devices/system/node/node0/cpulist", "0-15");
        for (int i = 0; i < gpus; i++) {
            String bus = Integer.toHexString(0x10 + 0x10 * i);
            String port = "pci0000:" + bus + "/0000:" + bus + ":01.0";
            String upper = port + "/0000:" + Integer.toHexString(0x11 + 0x10 * i) + ":00.0";
            String lower = Integer.toHexString(0x12 + 0x10 * i);
            pci(port, "1000", "c030", "060400");
            pci(upper, "1000", "c030", "060400");
            String gpu = upper + "/0000:" + lower + ":00.0";
            pci(gpu, "1000", "c030", "060400");
            pci(gpu + "/0000:" + Integer.toHexString(0x13 + 0x10 * i) + ":00.0", "10de", "2330", "030200");
            driver(gpu + "/0000:" + Integer.toHexString(0x13 + 0x10 * i) + ":00.0", "nvidia");
            String below = upper + "/0000:" + lower + ":01.0";
            pci(below, "1000", "c030", "060400");
            String nic = below + "/0000:" + Integer.toHexString(0x15 + 0x10 * i) + ":00.0";
            pci(nic, "15b3", "1021", "020000");
            driver(nic, "mlx5_core");
            String verbs = "/sys/devices/" + nic + "/infiniband/mlx5_" + i;
            link("/sys/class/infiniband/mlx5_" + i, verbs);
            link(verbs + "/device", "/sys/devices/" + nic);
            file(verbs + "/ports/1/state", "4: ACTIVE");
            file(verbs + "/ports/1/link_layer", "Ethernet");
            file(verbs + "/ports/1/rate", "400 Gb/sec (4X NDR)");
            gid(verbs, 1, "fe80:0000:0000:0000:0a00:00ff:fe00:000" + i, i);
            if (addresses) {
                gid(verbs, 3, "0000:0000:0000:0000:0000:ffff:0a00:0" + i + "01", i);
                routes.append("ens")
                        .append(i)
                        .append("\t000")
                        .append(i)
                        .append("000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n");
            }
            String net = "/sys/devices/" + nic + "/net/ens" + i;
            link("/sys/class/net/ens" + i, net);
            link(net + "/device", "/sys/devices/" + nic);
            file(net + "/type", "1");
            file(net + "/mtu", "4200");
        }
        file("/proc/net/route", routes.toString());
        return Topologies.read(root);
    }

    private void gid(String verbs, int index, String address, int nic) throws IOException {
        file(verbs + "/ports/1/gids/" + index, address);
        file(verbs + "/ports/1/gid_attrs/types/" + index, "RoCE v2");
        file(verbs + "/ports/1/gid_attrs/ndevs/" + index, "ens" + nic);
    }

    private static GroupPlan plan(Topology machine, Map<String, String> environment) {
        EpConfig config = EpConfig.builder(Map.of(), environment).build();
        var backends = PlannedBackend.all();
        return Planner.plan(
                SimulatedRanks.of(machine, backends, SimulatedRanks.Options.AS_DESCRIBED.withHosts(2), config)
                        .profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.from(config));
    }

    @Test
    void aPortWithoutAnAddressIsNoWay() throws Exception {
        GroupPlan plan = plan(machine(2, false), Map.of());

        assertThat(plan.path(0, 2).backend()).isEqualTo("efa");
        assertThat(plan.path(0, 2).rejected())
                .anySatisfy(reason ->
                        assertThat(reason).contains("ibrc-multiqp", "mlx5_0:1, mlx5_1:1 (only link-local GIDs"));
    }

    @Test
    void doctorPlansWithTheSettingsOfTheProcess() throws Exception {
        Topology machine = machine(2, true);
        for (String variable : new String[] {"NCCL_IB_HCA=mlx5_1", "EP_NIC_MAP=*:mlx5_1"}) {
            String[] pair = variable.split("=", 2);
            Map<String, String> environment = Map.of(pair[0], pair[1]);

            GroupPlan plan = plan(machine, environment);
            assertThat(plan.nics(0)).as(variable).containsExactly("mlx5_1:1").isEqualTo(plan.nics(1));
            assertThat(DoctorRun.text(root, environment))
                    .as(variable)
                    .contains("all 2 GPUs use mlx5_1, 1 other NICs are idle");
        }
    }

    @Test
    void whatAJoinRefusesDoctorFails() throws Exception {
        Topology machine = machine(1, true);
        Map<String, String> malformed = Map.of("NCCL_IB_HCA", "^=mlx5_6,^=mlx5_7");
        assertThatThrownBy(() -> plan(machine, malformed))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("(from ENVIRONMENT NCCL_IB_HCA)", "once, before the whole list");
        assertThat(DoctorRun.text(root, malformed)).containsPattern("FAIL +EP-CFG-001 .*NCCL_IB_HCA");
        assertThat(DoctorRun.text(root, Map.of("NCCL_IB_TIMEOUT", "32")))
                .containsPattern("FAIL +EP-CFG-001 .*NCCL_IB_TIMEOUT");
        assertThat(DoctorRun.text(root, Map.of("NVSHMEM_HCA_LIST", "^mlx5_6,^mlx5_0")))
                .contains("NVSHMEM_HCA_LIST names mlx5_6;");
    }

    @Test
    void messagesNameTheVariableThatWasSet() throws Exception {
        Topology machine = machine(1, true);
        assertThatThrownBy(() -> plan(machine, Map.of("NCCL_IB_HCA", "mlx5_9")))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("left without a NIC by NCCL_IB_HCA = mlx5_9 (read as ep.nic.include)");
    }

    @Test
    void theProviderThatASettingNamesIsPlanned() throws Exception {
        Topology machine = machine(1, true);
        assertThat(plan(machine, Map.of("EP_BACKEND_REQUIRE", "efa", "EP_EFA_PROVIDER", "verbs"))
                        .path(0, 1)
                        .offeredNics())
                .containsExactly("mlx5_0:1");
        assertThat(plan(machine, Map.of("EP_BACKEND_REQUIRE", "efa")).path(0, 1).offeredNics())
                .as("tcp, on no NIC that is plain Ethernet")
                .isEmpty();
        assertThatThrownBy(() -> plan(machine, Map.of("EP_BACKEND_REQUIRE", "efa", "EP_EFA_PROVIDER", "cxi")))
                .hasMessageContaining("ep.efa.provider is cxi");
    }

    @Test
    void networksThatNoRouteJoinsAreNotPaired() throws Exception {
        Topology machine = machine(2, true);
        GroupPlan plan = plan(machine, Map.of());

        assertThat(plan.path(0, 3).backend()).isEqualTo("ibrc-multiqp");
        assertThat(plan.path(0, 3).rejected())
                .anySatisfy(reason -> assertThat(reason)
                        .contains("nvshmem-ibgda: no known route joins", "10.0.0.0/24 and 10.0.1.0/24"));
        assertThat(PlanPaths.apart(plan))
                .singleElement()
                .asString()
                .contains("rank 0's mlx5_0:1 (10.0.0.0/24)", "rank 3's mlx5_1:1", "here mlx5_0:1 and mlx5_0:1");
        assertThat(DoctorRun.text(root, Map.of())).containsPattern("WARN +EP-NIC-009 .*GPU 1 10.0.1.0/24");
    }
}
