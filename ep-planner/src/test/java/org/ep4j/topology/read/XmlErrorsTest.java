package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.AbstractThrowableAssert;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file that cannot be understood is refused with its name, the line and the reason. */
@Tag("verify")
class XmlErrorsTest {
    @Test
    void anotherRootElement() {
        nccl("<machine/>").hasMessageContainingAll("m.xml, line 1", "\"machine\"", "<system>", "<topology>");
        hwloc("<machine/>").hasMessageContainingAll("m.xml, line 1", "\"machine\"", "<system>", "<topology>");
    }

    @Test
    void anotherVersion() {
        nccl("<system version='7'/>").hasMessageContainingAll("\"7\"", "1 (NCCL)", "2 (RCCL)");
        nccl("<system/>").hasMessageContainingAll("\"\"", "1 (NCCL)");
        hwloc("<topology version='9.0'/>").hasMessageContainingAll("\"9.0\"", "1, 2 and 3");
    }

    @Test
    void aFileWithoutAMachine() {
        nccl("<system version='1'/>").hasMessageContaining("no <cpu>");
        hwloc("<topology version='2.0'/>").hasMessageContaining("no <object>");
    }

    @Test
    void aBusIdThatIsNone() {
        nccl("<system version='1'>\n<cpu numaid='0'>\n<pci busid='here'/></cpu></system>")
                .hasMessageContainingAll("line 3", "\"here\"", "0000:0f:00.0");
        nccl("<system version='1'>\n<cpu numaid='0'><pci/></cpu></system>").hasMessageContainingAll("line 2", "\"\"");
    }

    @Test
    void twoDevicesOnOneBusId() {
        String gpu = "<pci busid='0000:01:00.0'><gpu/></pci>\n";
        nccl("<system version='1'><cpu numaid='0'>\n" + gpu + gpu + "</cpu></system>")
                .hasMessageContainingAll("line 3", "line 2", "0000:01:00.0");
    }

    @Test
    void aSwitchWithinItself() {
        String open = "<pci busid='0000:01:00.0' class='0x060400'>\n";
        nccl("<system version='1'><cpu numaid='0'>\n" + open + open
                        + "<pci busid='0000:02:00.0'><gpu/></pci></pci></pci></cpu></system>")
                .hasMessageContainingAll("line 3", "0000:01:00.0", "another parent");
    }

    @Test
    void aFileThatIsCutOff() {
        String whole = TopologyFuzzTest.own("nccl-hopper.xml");
        String cut = whole.substring(0, whole.indexOf("<net name=\"mlx5_2\""));
        nccl(cut).hasMessageContainingAll("m.xml, line " + cut.lines().count(), "broken or cut off");
        String machine = TopologyFuzzTest.own("hwloc-2.xml");
        hwloc(machine.substring(0, machine.length() / 2)).hasMessageContaining("broken or cut off");
    }

    @Test
    void moreAfterTheEnd() {
        nccl(TopologyFuzzTest.own("nccl-hopper.xml") + "<system version='1'/>")
                .hasMessageContaining("broken or cut off");
    }

    @Test
    void noXmlAtAll() {
        nccl("").hasMessageContaining("line 1");
        nccl("GPU0 GPU1").hasMessageContaining("line 1");
    }

    @Test
    void entitiesThatAreNotExpandedAndFilesThatAreNotOpened(@TempDir Path folder) throws Exception {
        Path secret = Files.writeString(folder.resolve("secret.txt"), "0");
        String outside = "<!DOCTYPE system [<!ENTITY e SYSTEM '" + secret.toUri() + "'>]>\n"
                + "<system version='1'><cpu numaid='0'>&e;</cpu></system>";
        nccl(outside).hasMessageContainingAll("line 2", "broken");
        String laughs = "<!DOCTYPE system [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>\n"
                + "<system version='1'><cpu numaid='0' vendor='&b;'/></system>";
        nccl(laughs).hasMessageContaining("line 2");
    }

    @Test
    void anUnknownDtdIsPassedOver() {
        String text = "<!DOCTYPE system SYSTEM 'http://nowhere.invalid/system.dtd'>\n"
                + "<system version='1'><cpu numaid='0'/></system>";
        assertThat(NcclTopology.read("m.xml", text).numaNodes()).hasSize(1);
    }

    @Test
    void moreElementsThanAreRead() {
        nccl("<system version='1'><cpu numaid='0'>" + "<x/>".repeat(Limits.ELEMENTS) + "</cpu></system>")
                .hasMessageContaining("more than " + Limits.ELEMENTS + " elements");
    }

    @Test
    void elementsNestedDeeperThanAreRead() {
        nccl("<system>" + "<x>".repeat(Limits.DEPTH)).hasMessageContaining("deeper than " + Limits.DEPTH);
    }

    @Test
    void aFileLargerThanIsRead() {
        nccl(" ".repeat(Limits.XML + 1)).hasMessageContainingAll("characters", "at most " + Limits.XML);
    }

    @Test
    void moreGpusNicsAndNodesThanAreRead() {
        nccl("<system version='1'><cpu numaid='0'><pci busid='0000:01:00.0'>" + "<gpu/>".repeat(Limits.GPUS + 1)
                        + "</pci></cpu></system>")
                .hasMessageContaining("more than " + Limits.GPUS + " GPUs");
        nccl("<system version='1'><cpu numaid='0'><nic>" + "<net/>".repeat(Limits.NICS + 1) + "</nic></cpu></system>")
                .hasMessageContaining("more than");
        StringBuilder nodes = new StringBuilder("<system version='1'>");
        for (int i = 0; i <= Limits.NUMA_NODES; i++) {
            nodes.append("<cpu numaid='").append(i).append("'/>");
        }
        nccl(nodes + "</system>").hasMessageContaining("more than " + Limits.NUMA_NODES + " NUMA nodes");
    }

    @Test
    void aMatrixThatDoesNotFitItsObjects() {
        String text = TopologyFuzzTest.own("hwloc-2.xml");
        hwloc(text.replace("150000 150000 1000000 <", "150000 <"))
                .hasMessageContainingAll("NVLinkBandwidth", "2 values", "4");
        hwloc(text.replace("nbobjs=\"2\"", "nbobjs=\"999999999\""))
                .hasMessageContainingAll("\"999999999\"", "1 to 1024");
        hwloc(text.replace("1000000 150000", "1000000 much")).hasMessageContaining("\"much\"");
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> nccl(String text) {
        return assertThatThrownBy(() -> NcclTopology.read("m.xml", text))
                .isInstanceOf(TopologyException.class)
                .hasMessageStartingWith("m.xml, line ");
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> hwloc(String text) {
        return assertThatThrownBy(() -> HwlocTopology.read("m.xml", text))
                .isInstanceOf(TopologyException.class)
                .hasMessageStartingWith("m.xml, line ");
    }
}
