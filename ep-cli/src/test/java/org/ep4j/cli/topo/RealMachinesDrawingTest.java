package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.ep4j.cli.RealMachineFiles;
import org.ep4j.cli.topo.Canvas.Box;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.topology.model.Host;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.xml.sax.InputSource;
import tools.jackson.databind.json.JsonMapper;

/** Real machines are shown whole, in every form. */
@Tag("verify")
final class RealMachinesDrawingTest {
    private static List<Path> files() throws IOException {
        Path folder = RealMachineFiles.required();
        List<Path> found = new ArrayList<>();
        for (String kind :
                List.of("nccl-xml", "hwloc-xml", "nvidia-smi-topo", "rocm-smi-topo", "ibv-devinfo", "sysfs")) {
            try (Stream<Path> all = Files.list(folder.resolve(kind))) {
                all.sorted().forEach(found::add);
            }
        }
        return found;
    }

    @Test
    void everyPartOfEveryMachineIsShownAndNoBoxLiesOnAnother() throws Exception {
        List<Path> files = files();
        assertThat(files).hasSizeGreaterThan(80);
        for (Path file : files) {
            Topology machine = MachineFile.read(Optional.of(file), Optional.empty());
            List<Part> placed = new ArrayList<>();
            for (Host host : machine.hosts()) {
                Branch.ofHost(machine, host.index())
                        .forEach(tree -> tree.flat().forEach(branch -> placed.add(branch.part())));
            }
            assertThat(placed).as("%s", file).containsExactlyInAnyOrderElementsOf(Machines.placed(machine));
            Canvas canvas = MachineDrawing.paint(machine, Nearest.of(machine));
            assertThat(machine.gpus()).as("%s", file).allMatch(canvas::has);
            assertThat(machine.nics()).as("%s", file).allMatch(canvas::has);
            apart(file, canvas.boxes());
            DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(new InputSource(new StringReader(MachineDrawing.of(machine))));
            assertThat(JsonMapper.builder()
                            .build()
                            .readTree(TopologyJson.of(machine))
                            .get("nics"))
                    .hasSize(machine.nics().size());
            assertThat(PathMatrix.of(machine)).isNotEmpty();
        }
    }

    private static void apart(Path file, List<Box> boxes) {
        for (int i = 0; i < boxes.size(); i++) {
            for (int j = i + 1; j < boxes.size(); j++) {
                Box a = boxes.get(i);
                Box b = boxes.get(j);
                boolean framed = a.kind() == BoxKind.PACKAGE && Rects.contains(a.place(), b.place());
                assertThat(!framed && Rects.overlap(a.place(), b.place()))
                        .as("%s: %s and %s", file, a, b)
                        .isFalse();
            }
        }
    }
}
