package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What becomes of the NICs of a machine when the output of {@code ibv_devinfo} is merged onto it. */
@Tag("verify")
class IbvMergeTest {
    private static final PciId CX7 = new PciId(0x15b3, 0x1021, -1, -1, 0x020700);

    @Test
    void devicesThatAreNotListedAreWarnedOfByNameAndNotPlanned() {
        Topology machine = machine(nic(0, "mlx5_0", ""), nic(1, "mlx5_1", ""), nic(2, "mlx5_2", ""));

        Topology merged = Topologies.merge(machine, "ibv.txt", device("mlx5_1", ""));

        assertThat(merged.warnings())
                .containsExactly("ibv.txt does not list mlx5_0, mlx5_2, which test has; ibv_devinfo lists every device "
                        + "that a process can open, so these NICs are not used");
        Gpu gpu = merged.gpus().get(0);
        assertThat(merged.nearestNics(gpu)).extracting(Nic::name).containsExactly("mlx5_1");
        Locality around = Localities.of(merged, gpu, -1);
        assertThat(around.nics())
                .filteredOn(nic -> !nic.ports().isEmpty())
                .extracting(NicReach::name)
                .containsExactly("mlx5_1");
        assertThat(around.obstaclesText()).isEqualTo("mlx5_0:1, mlx5_2:1 (" + PortObstacle.NOT_LISTED + ")");
    }

    @Test
    void nicsWithoutVerbsAreNoneThatIbvDevinfoCouldList() {
        Topology machine = machine(
                nic(0, "mlx5_0", ""),
                family(nic(1, "cxi0", ""), NicFamily.CXI),
                family(nic(2, "eth0", ""), NicFamily.ETHERNET));

        Topology merged = Topologies.merge(machine, "ibv.txt", device("mlx5_0", ""));

        assertThat(merged.nics()).allMatch(Nic::listed);
        assertThat(merged.warnings()).isEmpty();
    }

    @Test
    void theNodeGuidIdentifiesTheDeviceWhateverTheNames() {
        Random random = new Random(5);
        for (int round = 0; round < 200; round++) {
            int count = 1 + random.nextInt(6);
            List<Nic> nics = new ArrayList<>();
            List<String> names = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                nics.add(nic(i, "mlx5_" + i, guid(i)));
                names.add("mlx5_" + i);
            }
            Collections.shuffle(names, random);
            StringBuilder text = new StringBuilder("No IB devices found\n");
            Map<Integer, String> listed = new HashMap<>();
            for (int i = 0; i < count; i++) {
                if (random.nextBoolean()) {
                    listed.put(i, names.get(i));
                    text.append(device(names.get(i), guid(i)));
                }
            }

            Topology merged = Topologies.merge(machine(nics.toArray(Nic[]::new)), "ibv.txt", text.toString());

            assertThat(merged.nics()).hasSize(count).extracting(Nic::name).doesNotHaveDuplicates();
            for (int i = 0; i < count; i++) {
                Nic nic = merged.nics().get(i);
                assertThat(nic.guid()).isEqualTo(guid(i));
                assertThat(nic.listed()).isEqualTo(listed.containsKey(i));
                assertThat(nic.name())
                        .isEqualTo(listed.getOrDefault(
                                i, listed.containsValue("mlx5_" + i) ? "mlx5_" + i + "#2" : "mlx5_" + i));
            }
        }
    }

    @Test
    void theOutputOfAnotherMachineOfTheKindIsMatchedByNameAndDoubted() {
        Topology merged = Topologies.merge(machine(nic(0, "mlx5_0", guid(0))), "ibv.txt", device("mlx5_0", guid(9)));

        assertThat(merged.nics()).singleElement().matches(Nic::listed);
        assertThat(merged.warnings())
                .containsExactly("ibv.txt: mlx5_0 has node GUID " + guid(9) + " in this output, and " + guid(0)
                        + " on the machine; use the output of the same machine");
    }

    @Test
    void namesThatHoldThePciFunctionAreMatchedWithIt() {
        Topology machine = machine(nic(65, "mlx5_0", ""), nic(66, "mlx5_1", ""));

        Topology merged = Topologies.merge(machine, "ibv.txt", device("rocep66s0f0", "") + device("ibp65s0", ""));

        assertThat(merged.nics()).extracting(Nic::name).containsExactly("ibp65s0", "rocep66s0f0");
        assertThat(merged.warnings())
                .contains(
                        "ibv.txt: mlx5_0 of the machine is ibp65s0 in this output, and gets the name from the output");
    }

    @Test
    void aNicWithoutANameIsTheOnlyDeviceWithItsIds() {
        Nic nameless = nic(3, "nic@0000:03:00.0", "");
        Topology one = Topologies.merge(machine(nameless), "ibv.txt", device("mlx5_0", ""));
        assertThat(one.nics()).extracting(Nic::name).containsExactly("mlx5_0");
        assertThat(one.nics().get(0).address()).isEqualTo(nameless.address());

        Topology none = Topologies.merge(machine(nameless), "ibv.txt", device("mlx5_0", "", 4099));
        assertThat(none.nics().get(0).listed()).isFalse();
    }

    @Test
    void nicsWithoutNamesStayWhereSeveralDevicesMayBeThem() {
        Topology machine = machine(nic(3, "nic@0000:03:00.0", ""), nic(4, "nic@0000:04:00.0", ""));

        Topology merged = Topologies.merge(machine, "ibv.txt", device("mlx5_0", "") + device("mlx5_1", ""));

        assertThat(merged.nics().subList(0, 2)).isEqualTo(machine.nics());
        assertThat(merged.warnings())
                .contains(
                        "ibv.txt: it is not known which devices of this output are the NICs nic@0000:03:00.0, nic@0000:04:00.0"
                                + " of the machine; these NICs stay unchanged");
    }

    private static Topology machine(Nic... nics) {
        Topology.Builder machine = Topology.builder("test");
        int host = machine.host("");
        NumaNode node = new NumaNode(host, 0, Processor.UNKNOWN);
        Gpu gpu = Gpu.builder(host, 0, GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .build();
        machine.add(node).add(gpu).link(node, gpu, new Link(LinkType.PCI, 48, 1));
        for (Nic nic : nics) {
            machine.add(nic).link(node, nic, new Link(LinkType.PCI, 48, 1));
        }
        return machine.build();
    }

    private static Nic nic(int bus, String name, String guid) {
        return new Nic(
                        0,
                        name,
                        Optional.of(new PciAddress(0, bus, 0, 0)),
                        CX7,
                        NicFamily.MLX5,
                        "",
                        name,
                        0,
                        Optional.empty(),
                        true,
                        List.of(NicPort.of(1, 400)))
                .withGuid(guid);
    }

    private static Nic family(Nic nic, NicFamily family) {
        return new Nic(
                nic.host(),
                nic.name(),
                nic.address(),
                PciId.UNKNOWN,
                family,
                "",
                nic.name(),
                0,
                Optional.empty(),
                true,
                nic.ports());
    }

    private static String guid(int number) {
        return String.format(Locale.ROOT, "a088:c203:0012:%04x", number + 1);
    }

    private static String device(String name, String guid) {
        return device(name, guid, 4129);
    }

    private static String device(String name, String guid, int part) {
        return "hca_id: " + name + "\n" + (guid.isEmpty() ? "" : " node_guid: " + guid + "\n")
                + " vendor_id: 0x02c9\n vendor_part_id: " + part + "\n phys_port_cnt: 1\n  port: 1\n"
                + "   state: PORT_ACTIVE (4)\n   link_layer: InfiniBand\n\n";
    }
}
