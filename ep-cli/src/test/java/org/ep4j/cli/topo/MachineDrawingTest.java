package org.ep4j.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.ep4j.cli.topo.Canvas.Box;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.cli.topo.Canvas.Rect;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

@Tag("verify")
final class MachineDrawingTest {
    private static Element parse(Topology machine) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        return factory.newDocumentBuilder()
                .parse(new InputSource(new StringReader(MachineDrawing.of(machine))))
                .getDocumentElement();
    }

    private static List<Element> all(Element svg, String name) {
        NodeList nodes = svg.getElementsByTagNameNS("http://www.w3.org/2000/svg", name);
        List<Element> found = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            found.add((Element) nodes.item(i));
        }
        return found;
    }

    @ParameterizedTest
    @MethodSource("org.ep4j.cli.topo.BranchTest#machines")
    void noBoxLiesOnAnotherButPartitionsInTheirFrame(Topology machine) {
        List<Box> boxes = MachineDrawing.paint(machine, Nearest.of(machine)).boxes();
        for (int i = 0; i < boxes.size(); i++) {
            for (int j = i + 1; j < boxes.size(); j++) {
                Box a = boxes.get(i);
                Box b = boxes.get(j);
                if (!framed(a, b) && !framed(b, a)) {
                    assertThat(Rects.overlap(a.place(), b.place()))
                            .as("%s and %s", a, b)
                            .isFalse();
                }
            }
        }
    }

    private static boolean framed(Box frame, Box gpu) {
        return frame.kind() == BoxKind.PACKAGE
                && gpu.kind() == BoxKind.GPU
                && Rects.contains(frame.place(), gpu.place());
    }

    @ParameterizedTest
    @MethodSource("org.ep4j.cli.topo.BranchTest#machines")
    void everythingLiesInsideTheViewBox(Topology machine) throws Exception {
        Element svg = parse(machine);
        double[] view = Arrays.stream(svg.getAttribute("viewBox").split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
        Rect whole = new Rect(view[0], view[1], view[2], view[3]);
        for (Element rect : all(svg, "rect")) {
            if (!rect.getAttribute("x").isEmpty()) {
                assertThat(Rects.contains(
                                whole,
                                new Rect(
                                        number(rect, "x"),
                                        number(rect, "y"),
                                        number(rect, "width"),
                                        number(rect, "height"))))
                        .isTrue();
            }
        }
        for (Element text : all(svg, "text")) {
            assertThat(Rects.contains(whole, new Rect(number(text, "x"), number(text, "y"), 0, 0)))
                    .isTrue();
        }
        for (Element path : all(svg, "path")) {
            for (String point : path.getAttribute("d").substring(1).split("[ML]", -1)) {
                String[] xy = point.split(" ", -1);
                assertThat(Rects.contains(whole, new Rect(Double.parseDouble(xy[0]), Double.parseDouble(xy[1]), 0, 0)))
                        .isTrue();
            }
        }
    }

    private static double number(Element element, String attribute) {
        return Double.parseDouble(element.getAttribute(attribute));
    }

    @ParameterizedTest
    @MethodSource("org.ep4j.cli.topo.BranchTest#machines")
    void everyDeviceHasABoxOfItsOwn(Topology machine) {
        Canvas canvas = MachineDrawing.paint(machine, Nearest.of(machine));
        for (Gpu gpu : machine.gpus()) {
            assertThat(canvas.has(gpu)).isTrue();
        }
        for (Nic nic : machine.nics()) {
            assertThat(canvas.has(nic)).isTrue();
        }
    }

    @Test
    void aReaderOfScreensHearsTitleDescriptionAndPaths() throws Exception {
        Element svg = parse(Machines.eightGpus(4));
        assertThat(svg.getAttribute("role")).isEqualTo("img");
        assertThat(all(svg, "title").get(0).getTextContent()).isEqualTo("eight GPUs");
        assertThat(all(svg, "desc").get(0).getTextContent()).contains("8 GPUs, 32 NICs");
        assertThat(all(svg, "title"))
                .extracting(Element::getTextContent)
                .contains("GPU3 to rdma12, rdma13, rdma14, rdma15: PIX");
    }

    @Test
    void gpuLinksAreABarForSwitchesAndFullMeshesAndWiresElse() {
        assertThat(labels(Machines.eightGpus(1))).contains("NVSwitch, 8 GPUs, 18 links 370.8 GB/s each");
        assertThat(labels(Machines.partitions())).contains("xGMI between every two of 64 GPUs");
        Topology mesh = Machines.cubeMesh();
        assertThat(MachineDrawing.paint(mesh, Nearest.of(mesh)).wires())
                .filteredOn(wire -> wire.tip().contains("NVLink x2"))
                .hasSize(16);
    }

    private static List<String> labels(Topology machine) {
        return MachineDrawing.paint(machine, Nearest.of(machine)).boxes().stream()
                .flatMap(box -> box.lines().stream())
                .toList();
    }

    @Test
    void namesThatXmlCannotHoldAreMadePrintable() throws Exception {
        assertThat(all(parse(Machines.matrix()), "text"))
                .extracting(Element::getTextContent)
                .contains("<mlx5 & \"one\">?");
    }
}
