package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.cli.topo.Canvas.Box;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.cli.topo.Canvas.Rect;
import org.ep4j.cli.topo.Canvas.Wire;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Host;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;

/**
 * One host: a bar for it, below it bars for NUMA nodes, PCI roots and switches, each as wide as what hangs on it, then
 * NICs, a corridor for the wires to the nearest NICs, and GPUs.
 */
final class HostDrawing {
    private static final double BAR = 30;
    private static final double GAP = 8;

    private final Topology topology;
    private final Map<Gpu, Nearest> nearest;
    private final Canvas canvas;
    private final PartText words;
    private final Host host;
    private final double left;
    private final double top;
    private final List<DeviceBlock> blocks = new ArrayList<>();

    HostDrawing(Topology topology, Map<Gpu, Nearest> nearest, Canvas canvas, Host host, double left, double top) {
        this.topology = topology;
        this.nearest = nearest;
        this.canvas = canvas;
        this.words = new PartText(topology);
        this.host = host;
        this.left = left;
        this.top = top;
    }

    /** Draws the host, and returns its width. */
    double draw() {
        List<Branch> trees = Branch.ofHost(topology, host.index());
        List<Part> loose = trees.stream()
                .filter(tree -> device(tree.part()))
                .map(Branch::part)
                .toList();
        double x = left;
        int levels = 0;
        for (Branch tree : trees) {
            if (!device(tree.part()) && (tree.part() instanceof NumaNode || holdsDevices(tree))) {
                x += bar(tree, x, 1) + GAP;
                levels = Math.max(levels, depth(tree));
            }
        }
        if (!loose.isEmpty()) {
            x += loose(loose, x) + GAP;
            levels = Math.max(levels, 1);
        }
        double width = Math.max(x - GAP - left, DeviceBlock.CELL);
        String name = host.name().isEmpty() ? "host " + host.index() : "host " + host.name();
        canvas.add(new Box(BoxKind.HOST, new Rect(left, top, width, BAR), List.of(name), name));
        devices(top + (levels + 1) * (BAR + GAP));
        return width;
    }

    private static boolean device(Part part) {
        return part instanceof Gpu || part instanceof Nic;
    }

    private static boolean holdsDevices(Branch branch) {
        return branch.flat().stream().anyMatch(below -> device(below.part()));
    }

    /** Bars on the longest way down. */
    private static int depth(Branch branch) {
        return 1
                + branch.children().stream()
                        .filter(child -> !device(child.part()) && holdsDevices(child))
                        .mapToInt(HostDrawing::depth)
                        .max()
                        .orElse(0);
    }

    private double bar(Branch branch, double x, int level) {
        double barTop = top + level * (BAR + GAP);
        List<Part> own = new ArrayList<>();
        branch.children().stream()
                .filter(child -> device(child.part()))
                .forEach(child -> child.flat().forEach(below -> own.add(below.part())));
        DeviceBlock block = new DeviceBlock(words, own, x, barTop + BAR);
        double at = x;
        if (!block.empty()) {
            blocks.add(block);
            at += block.width() + GAP;
        }
        for (Branch child : branch.children()) {
            if (!device(child.part()) && holdsDevices(child)) {
                at += bar(child, at, level + 1) + GAP;
            }
        }
        double width = Math.max(at - GAP - x, DeviceBlock.CELL);
        BoxKind kind = branch.part() instanceof NumaNode ? BoxKind.NUMA : BoxKind.SWITCH;
        canvas.add(new Box(
                kind,
                new Rect(x, barTop, width, BAR),
                List.of(branch.part().name(), words.details(branch.part())),
                words.line(branch)));
        return width;
    }

    private double loose(List<Part> devices, double x) {
        double barTop = top + BAR + GAP;
        DeviceBlock block = new DeviceBlock(words, devices, x, barTop + BAR);
        blocks.add(block);
        String name = "place not known";
        canvas.add(new Box(BoxKind.NUMA, new Rect(x, barTop, block.width(), BAR), List.of(name), name));
        return block.width();
    }

    private void devices(double nicTop) {
        double nicBottom = nicTop;
        for (DeviceBlock block : blocks) {
            block.drawNics(canvas, nicTop);
            nicBottom = Math.max(nicBottom, nicTop + block.nicHeight());
            if (nicTop - block.barBottom > GAP) {
                double x = block.x + DeviceBlock.CELL / 2;
                canvas.add(new Wire(List.of(new Wire.Segment(x, block.barBottom, x, nicTop)), "#90a4ae", 1.5, ""));
            }
        }
        double gpuTop = nicBottom + wires().height();
        blocks.forEach(block -> block.drawGpus(canvas, gpuTop));
        wires().draw(canvas, nicBottom);
    }

    /** Lanes depend on columns alone, so they are known before the rows are. */
    private NearestWires wires() {
        Canvas columns = new Canvas();
        for (DeviceBlock block : blocks) {
            block.drawNics(columns, 0);
            block.drawGpus(columns, 0);
        }
        return new NearestWires(nearest, columns, host.index());
    }
}
