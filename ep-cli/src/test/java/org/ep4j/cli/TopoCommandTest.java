package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class TopoCommandTest {
    private static final String MACHINE = """
            <system version="1">
              <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:0c:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
                  <pci busid="0000:0d:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                    <gpu dev="0" sm="90" rank="0" gdr="1"/>
                  </pci>
                  <pci busid="0000:0e:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
                    <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" gdr="1"/></nic>
                  </pci>
                </pci>
              </cpu>
            </system>
            """;

    @TempDir
    private Path folder;

    private Path machine = Path.of("");

    @BeforeEach
    void write() throws IOException {
        machine = Files.writeString(folder.resolve("machine.xml"), MACHINE);
    }

    @Test
    void aFileIsShownAsTreeAndMatrix() {
        Ran ran = Ran.ep("topo", "--file", machine.toString());
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out().lines())
                .anyMatch(line -> line.contains("1 NUMA node, 1 GPU, 1 NIC"))
                .anyMatch(line -> line.matches("GPU0 +PIX\\*"));
    }

    @Test
    void thisMachineIsShownWithoutAFile() {
        Ran ran = Ran.ep("topo");
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("host 0", "NUMA");
    }

    @Test
    void jsonIsPrintedInsteadOfTheTextOrWrittenBesideIt() throws IOException {
        String printed = Ran.ep("topo", "--file", machine.toString(), "--json").out();
        Path file = folder.resolve("machine.json");
        Ran ran = Ran.ep("topo", "--file", machine.toString(), "--json", file.toString());
        assertThat(ran.out()).contains("PIX*");
        assertThat(Files.readString(file)).isEqualTo(printed);
        assertThat(JsonMapper.builder().build().readTree(printed).get("gpus")).hasSize(1);
    }

    @Test
    void theDrawingIsWritten() throws IOException {
        Path file = folder.resolve("machine.svg");
        assertThat(Ran.ep("topo", "--file", machine.toString(), "--svg", file.toString())
                        .code())
                .isZero();
        assertThat(Files.readString(file)).startsWith("<?xml").contains("<svg", "mlx5_0", "</svg>");
    }

    @Test
    void anArchiveOfARecordingIsReadAndLeavesNothingBehind() throws IOException {
        Path archive = folder.resolve("recording.tar.gz");
        try (OutputStream out = Files.newOutputStream(archive);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(new GZIPOutputStream(out))) {
            byte[] cpus = "0-7".getBytes(StandardCharsets.UTF_8);
            TarArchiveEntry entry = new TarArchiveEntry("host/sys/devices/system/node/node0/cpulist");
            entry.setSize(cpus.length);
            tar.putArchiveEntry(entry);
            tar.write(cpus);
            tar.closeArchiveEntry();
        }
        Ran ran = Ran.ep("topo", "--file", archive.toString());
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).startsWith(archive.toString()).contains("1 NUMA node");
        Ran planned = Ran.ep("plan", "--file", archive.toString(), "--hosts", "2", "--mode", "ll");
        assertThat(planned.code()).as(planned.err()).isZero();
    }

    @Test
    void portsAreMergedFromIbvDevinfo() throws IOException {
        Path text = Files.writeString(folder.resolve("ibv.txt"), """
                hca_id:\tmlx5_0
                \ttransport:\t\t\tInfiniBand (0)
                \tphys_port_cnt:\t\t\t1
                \t\tport:\t1
                \t\t\tstate:\t\t\tPORT_DOWN (1)
                \t\t\tactive_mtu:\t\t4096 (5)
                \t\t\tlink_layer:\t\tInfiniBand
                """);
        Ran ran = Ran.ep("topo", "--file", machine.toString(), "--merge", text.toString());
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("port 1 DOWN InfiniBand");
    }

    @Test
    void namesThatATerminalWouldObeyAreEscaped() throws IOException {
        Files.writeString(machine, MACHINE.replace("mlx5_0", "a\u009b31mb\u202ec&#10;d&#13;e"));
        String escaped = "a\\u009b31mb\\u202ec\\u000ad\\u000de";
        Ran text = Ran.ep("topo", "--file", machine.toString());
        assertThat(text.out()).contains(escaped, "warning: the name of a NIC").doesNotContain("\u009b", "\u202e", "\r");
        assertThat(JsonMapper.builder()
                        .build()
                        .readTree(Ran.ep("topo", "--file", machine.toString(), "--json")
                                .out())
                        .at("/nics/0/name")
                        .asString())
                .isEqualTo(escaped);
        assertThat(Ran.ep("plan", "--file", machine.toString(), "--hosts", "2").out())
                .contains(escaped)
                .doesNotContain("\u009b", "\u202e");
        Ran wrong = Ran.ep("topo", "--\u009b31m");
        assertThat(wrong.err()).contains("\\u009b31m").doesNotContain("\u009b");
    }

    @Test
    void onlyFilesThatHaveAnEndAreRead() throws IOException, InterruptedException {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        for (String file :
                List.of("", pipe.toString(), "/dev/zero", folder.resolve("none").toString())) {
            List<List<String>> commands = List.of(
                    List.of("topo", "--file", file),
                    List.of("plan", "--file", file),
                    List.of("topo", "--file", machine.toString(), "--merge", file),
                    List.of("plan", "--file", machine.toString(), "--merge", file),
                    List.of("doctor", "--root", file),
                    List.of("doctor", "--root", folder.toString(), "--env", file));
            for (List<String> command : commands) {
                Ran ran = Ran.ep(command.toArray(String[]::new));
                assertThat(ran.code()).as("%s: %s", command, ran.err()).isEqualTo(ExitCodes.USAGE);
                assertThat(ran.err()).contains(file.isEmpty() ? "empty" : file).doesNotContain("\tat ");
            }
        }
        assertThat(Ran.ep("topo", "--file", machine.toString(), "--merge", folder.toString())
                        .err())
                .contains("is a folder");
    }

    @Test
    void aFileThatCannotBeReadOrWrittenIsReportedWithItsName() throws IOException {
        Path junk = Files.writeString(folder.resolve("junk.txt"), "nothing of this is a machine");
        Ran ran = Ran.ep("topo", "--file", junk.toString());
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains("junk.txt").doesNotContain("\tat ");
        Ran missing = Ran.ep("topo", "--file", machine.toString(), "--svg", "/no/such/folder/x.svg");
        assertThat(missing.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(missing.err()).contains("/no/such/folder/x.svg");
    }
}
