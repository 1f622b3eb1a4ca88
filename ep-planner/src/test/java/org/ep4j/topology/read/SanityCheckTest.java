package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.function.UnaryOperator;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Names that are odd are escaped and numbers that cannot be are unknown, with a warning. */
@Tag("verify")
final class SanityCheckTest {
    private static final String NCCL = """
            <system version="1">
              <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:0d:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                  <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:0e:00.0" count="4" tclass="0x030200"/></gpu>
                </pci>
                <pci busid="0000:0e:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
                  <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" gdr="1"/></nic>
                </pci>
              </cpu>
            </system>
            """;

    private static Topology nccl(String text, String with) {
        assertThat(NCCL).contains(text);
        return Topologies.read("m.xml", NCCL.replace(text, with));
    }

    @Test
    void numbersThatCannotBeAreUnknownWithAWarning() {
        assertThat(Topologies.read("m.xml", NCCL).warnings()).noneMatch(warning -> warning.contains("unknown"));
        warned("numaid=\"0\"", "numaid=\"1000000\"");
        warned("familyid=\"6\"", "familyid=\"999999\"");
        warned("modelid=\"143\"", "modelid=\"many\"");
        warned("link_width=\"16\"", "link_width=\"9999\"");
        warned("link_speed=\"32.0 GT/s PCIe\"", "link_speed=\"99999 GT/s\"");
        warned("count=\"4\"", "count=\"99999999999\"");
        warned("port=\"1\"", "port=\"70000\"");
        Topology processor = nccl("modelid=\"143\"", "modelid=\"9999\"");
        assertThat(processor.numaNodes().get(0).processor()).isEqualTo(new Processor("x86_64", "GenuineIntel", 6, -1));
        assertThat(nccl("numaid=\"0\"", "numaid=\"5000\"").numaNodes().get(0).number())
                .isEqualTo(-1);
    }

    private static void warned(String text, String with) {
        assertThat(nccl(text, with).warnings())
                .as(with)
                .anyMatch(warning ->
                        warning.contains(with.substring(0, with.indexOf('='))) && warning.contains("unknown"));
    }

    @Test
    void namesAreShortAndPrintable() {
        Nic odd = nccl("mlx5_0", "a\u009b31mb\u202ec&#10;d").nics().get(0);
        assertThat(odd.name()).isEqualTo("a\\u009b31mb\\u202ec\\u000ad");
        Topology longer = nccl("mlx5_0", "n".repeat(100_000));
        assertThat(longer.nics().get(0).name()).isEqualTo("n".repeat(Limits.NAME));
        assertThat(longer.warnings()).anyMatch(warning -> warning.contains("has 100000 characters"));
        assertThat(longer.distances(longer.gpus().get(0)))
                .containsKey(longer.nics().get(0));
    }

    @Test
    void namesThatAreAlikeOnceTheyAreCutStayDifferent() {
        String name = "n".repeat(300);
        Topology machine = nccl(
                "<net name=\"mlx5_0\"",
                "<net name=\"" + name + "1\" port=\"1\"/><net name=\"" + name + "2\" port=\"1\"/><net name=\"x\"");
        assertThat(machine.nics())
                .extracting(Nic::name)
                .containsExactly("n".repeat(Limits.NAME), "n".repeat(Limits.NAME) + "#2", "x");
    }

    @Test
    void ratesThatNoPortHasAreUnknown() {
        Topology machine = Topologies.read(
                "i.txt",
                Texts.IBV_DEVINFO_VERBOSE
                        .replace("4X (2)", "99X (2)")
                        .replace("100.0 Gbps", "99999 Gbps")
                        .replace("PORT_DOWN (1)", "PORT_ACTIVE (4)"));
        assertThat(machine.nics().get(0).gigabitsPerSecond()).isZero();
        assertThat(machine.warnings()).anyMatch(warning -> warning.contains("9899901.0 Gb/s"));
    }

    @Test
    void treesWithNumbersThatCannotBe() {
        Topology far = tree("numa_node", "4000");
        assertThat(far.warnings()).anyMatch(warning -> warning.contains("NUMA node 4000"));
        Topology fast = tree("max_link_speed", "99999 GT/s");
        assertThat(fast.warnings()).anyMatch(warning -> warning.contains("99999.0 GT/s"));
        SysTree nodes = Machines.twoSockets();
        nodes.files.file("/sys/devices/system/node/node5000/cpulist", "0-7");
        assertThatThrownBy(() -> Topologies.read("tree", nodes.tree()))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("number 5000; the highest that Linux has is 1023");
    }

    private static Topology tree(String name, String value) {
        SysTree machine = Machines.twoSockets();
        machine.files.files.replaceAll((path, text) -> path.endsWith("/" + name) ? value : text);
        return Topologies.read("tree", machine.tree());
    }

    @Test
    void anAddressWithAZoneIsNoGid() {
        assertThat(Gid.expand("fe80::1")).contains("fe80:0000:0000:0000:0000:0000:0000:0001");
        assertThat(Gid.expand("fe80::1%none")).isEmpty();
    }

    @Test
    void foldersWithMoreThanAreReadAreRefused() {
        SysTree machine = Machines.instinct();
        for (int i = 0; i <= Limits.GPUS + Limits.NUMA_NODES; i++) {
            machine.files.file(KfdNode.FOLDER + "/nodes/" + i + "/properties", "simd_count 1\n");
        }
        assertThatThrownBy(() -> Topologies.read("tree", machine.tree()))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("nodes has 1537 entries; at most 1536 are read");
    }

    @Test
    void displayDevicesOfUnknownMakersAreNamed() {
        String object = """
                <object type="PCIDev" gp_index="90" pci_busid="0000:7f:00.0" pci_type="KIND" pci_link_speed="31.5"/>
                """;
        String hwloc = TopologyFuzzTest.own("hwloc-2.xml");
        int place = hwloc.indexOf("<object type=\"PCIDev\"");
        UnaryOperator<String> with =
                kind -> hwloc.substring(0, place) + object.replace("KIND", kind) + hwloc.substring(place);
        Topology unknown = Topologies.read("h.xml", with.apply("0302 [0000:0000] [0000:0000] a1"));
        assertThat(unknown.warnings())
                .anyMatch(warning -> warning.contains("display devices")
                        && warning.contains("0000:7f:00.0")
                        && warning.contains("lstopo"));
        assertThat(Topologies.read("h.xml", with.apply("0300 [1a03:2000] [1a03:2000] 41"))
                        .warnings())
                .noneMatch(warning -> warning.contains("display devices"));
        assertThat(Topologies.read("h.xml", hwloc.replace("pci_link_speed=\"", "pci_link_speed=\"99999"))
                        .warnings())
                .anyMatch(warning -> warning.contains("pci_link_speed"));
    }
}
