package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The format of a file is found from its content, and a machine that is read is refined by other sources. */
@Tag("verify")
final class TopologiesTest {
    private static final String NCCL = """
            <!-- made up -->
            <system version="1">
              <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:0f:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                  <gpu dev="0" sm="90" rank="0" gdr="1"/>
                </pci>
              </cpu>
            </system>
            """;

    @TempDir
    private Path folder;

    @Test
    void namesOfFilesDoNotMatter() throws IOException {
        assertThat(Topologies.read(file("a.json", NCCL)).gpus()).hasSize(1);
        assertThat(Topologies.read(file("b.xml", Texts.NVIDIA_SMI)).gpus()).hasSize(3);
        assertThat(Topologies.read(file("c", Texts.ROCM_SMI)).gpus()).hasSize(3);
        assertThat(Topologies.read(file("d.txt", Texts.IBV_DEVINFO)).nics()).hasSize(1);
        assertThat(Topologies.read(file("e.txt", "\ufeff" + NCCL)).gpus()).hasSize(1);
    }

    @Test
    void aTextThatNoReaderKnowsIsRefusedWithItsFirstLine() {
        assertThatThrownBy(() -> Topologies.read("notes.txt", "\n Dear\u0007 diary,\n today"))
                .isInstanceOf(TopologyException.class)
                .hasMessageStartingWith("notes.txt: expected a topology file of NCCL")
                .hasMessageEndingWith("the first line is \"Dear? diary,\"");
    }

    @Test
    void anUnknownElementIsNamed() {
        assertThatThrownBy(() -> Topologies.read("page", "<?xml version=\"1.0\"?><!DOCTYPE html><html lang=\"en\">"))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("its first element is \"html\"");
        assertThatThrownBy(() -> Topologies.read("page", "<!-- never ends"))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("its first element is \"\"");
    }

    @Test
    void emptyMissingAndPackedFilesAreRefused() throws IOException {
        Path packed = folder.resolve("rec.tar.gz");
        Files.write(packed, new byte[] {0x1f, (byte) 0x8b, 8, 0});

        assertThatThrownBy(() -> Topologies.read(file("empty", " \n")))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("is empty");
        assertThatThrownBy(() -> Topologies.read(folder.resolve("none")))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("there is no such file or folder");
        assertThatThrownBy(() -> Topologies.read(packed))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("is compressed by gzip; unpack it");
    }

    @Test
    void aFolderWithSysIsARecordingAlsoBelowASingleFolder() throws IOException {
        write(Machines.twoSockets(), folder.resolve("rec/host7"));

        assertThat(Topologies.read(folder.resolve("rec/host7")).gpus()).hasSize(3);
        assertThat(Topologies.read(folder.resolve("rec")).nics()).hasSize(3);
        assertThat(Topologies.read(folder.resolve("rec")).warnings())
                .singleElement()
                .asString()
                .contains("NVLink");
    }

    @Test
    void aFolderWithNodesOfKfdIsAMachine() throws IOException {
        write(Machines.instinct(), folder);
        Path kfd = folder.resolve("sys/class/kfd/kfd");

        assertThat(Topologies.read(kfd).gpus()).hasSize(4);
        assertThat(Topologies.read(kfd.resolve("topology")).gpus()).hasSize(4);
        assertThat(Topologies.read(kfd).numaNodes()).hasSize(2);
    }

    @Test
    void otherFilesBesideARecordingAreNoMatter() throws IOException {
        write(Machines.instinct(), folder.resolve("a"));
        file("README", "from a machine");
        file("a/README", "from a machine");
        assertThat(Topologies.read(folder).gpus()).hasSize(4);
        Path kfd = folder.resolve("a/sys/class/kfd/kfd");
        Files.writeString(kfd.resolve("README"), "from a machine");
        Files.writeString(kfd.resolve("topology/README"), "from a machine");
        assertThat(Topologies.read(kfd).gpus()).hasSize(4);
        assertThat(Topologies.read(kfd.resolve("topology")).gpus()).hasSize(4);
    }

    @Test
    void severalRecordingsAreRefusedAndALinkToOneIsNone() throws IOException {
        write(Machines.instinct(), folder.resolve("a"));
        Files.createSymbolicLink(folder.resolve("latest"), Path.of("a"));
        assertThat(Topologies.read(folder).gpus()).hasSize(4);
        write(Machines.instinct(), folder.resolve("b"));
        assertThatThrownBy(() -> Topologies.read(folder))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("several recordings of machines, in \"/a, /b\"");
    }

    @Test
    void anyOtherFolderIsRefusedWithWhatIsInIt() throws IOException {
        file("one", "1");
        file("two", "2");

        assertThatThrownBy(() -> Topologies.read(folder))
                .isInstanceOf(TopologyException.class)
                .hasMessageContaining("expected a folder \"sys\" in it")
                .hasMessageEndingWith("there is \"one, two\"");
    }

    @Test
    void linksThatLeadOutOfARecordingAreMissing() throws IOException {
        file("secret", "7");
        Path root = Files.createDirectories(folder.resolve("root/sys"));
        Files.createSymbolicLink(root.resolve("out"), Path.of("../../secret"));
        Files.createSymbolicLink(root.resolve("dangling"), Path.of("../bus/nowhere/driver_x"));
        Files.createSymbolicLink(root.resolve("loop"), Path.of("loop"));

        FileTree tree = FileTree.of(folder.resolve("root"));
        assertThat(tree.text("/sys/out")).isEmpty();
        assertThat(tree.real("/sys/out")).isEmpty();
        assertThat(tree.text("/sys/../../secret")).isEmpty();
        assertThat(tree.text("/sys/loop")).isEmpty();
        assertThat(tree.link("/sys/dangling")).contains("../bus/nowhere/driver_x");
        assertThat(tree.list("/sys")).containsExactly("dangling", "loop", "out");
    }

    @Test
    void aSourceThatFailsLeavesTheMachineWithAWarning() {
        Topology machine = LinuxTopology.read("test", Machines.twoSockets().tree(), Map.of());

        Topology refined = Topologies.refine(machine, new TopologySource() {
            @Override
            public String id() {
                return "broken";
            }

            @Override
            public Topology refine(Topology topology) {
                throw new UnsatisfiedLinkError("no such symbol");
            }
        });

        assertThat(refined.parts()).isEqualTo(machine.parts());
        assertThat(refined.distance(refined.gpus().get(0), refined.nics().get(0)))
                .isEqualTo(
                        machine.distance(machine.gpus().get(0), machine.nics().get(0)));
        assertThat(refined.warnings())
                .containsExactly("topology source broken failed: java.lang.UnsatisfiedLinkError: no such symbol");
    }

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    /** As a recording lies on disk: links are relative, so that the recording can be anywhere. */
    private static void write(SysTree machine, Path root) throws IOException {
        for (Map.Entry<String, String> file : machine.files.files.entrySet()) {
            Path path = root.resolve(file.getKey().substring(1));
            Files.createDirectories(path.getParent());
            Files.writeString(path, file.getValue(), StandardCharsets.UTF_8);
        }
        for (Map.Entry<String, String> link : machine.files.links.entrySet()) {
            Path path = root.resolve(link.getKey().substring(1));
            Files.createDirectories(path.getParent());
            Files.createSymbolicLink(
                    path,
                    path.getParent().relativize(root.resolve(link.getValue().substring(1))));
        }
    }
}
