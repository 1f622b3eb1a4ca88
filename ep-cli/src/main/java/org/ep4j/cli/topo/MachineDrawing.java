package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.cli.topo.Canvas.LegendEntry;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Host;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.Topology;

/** A machine as an SVG drawing: hosts beside each other, links between GPUs below them, a legend at the end. */
public final class MachineDrawing {
    static final double MARGIN = 16;
    private static final double HEAD = 40;
    private static final double BETWEEN = 32;
    private static final double LEGEND = 22;
    private static final double SAMPLE = 190;

    private MachineDrawing() {}

    /** The drawing, a complete SVG document. */
    public static String of(Topology topology) {
        Map<Gpu, Nearest> nearest = Nearest.of(topology);
        Canvas canvas = paint(topology, nearest);
        List<LegendEntry> legend = legend(nearest, canvas);
        double width = Math.max(canvas.right(), 4 * SAMPLE) + MARGIN;
        int perRow = Math.max(1, (int) ((width - MARGIN) / SAMPLE));
        double legendTop = canvas.bottom() + 2 * MARGIN;
        int rows = (legend.size() + perRow - 1) / perRow;
        double height = legendTop + rows * LEGEND + MARGIN;
        Svg svg = new Svg(width, height, Printable.line(topology.source()), TopologyTree.counts(topology));
        canvas.wires().forEach(svg::wire);
        canvas.boxes().forEach(svg::box);
        for (int i = 0; i < legend.size(); i++) {
            int column = i % perRow;
            int row = i / perRow;
            svg.legend(legend.get(i), MARGIN + column * SAMPLE, legendTop + row * LEGEND);
        }
        return svg.finish();
    }

    static Canvas paint(Topology topology, Map<Gpu, Nearest> nearest) {
        Canvas canvas = new Canvas();
        double x = MARGIN;
        for (Host host : topology.hosts()) {
            HostDrawing drawing = new HostDrawing(topology, nearest, canvas, host, x, MARGIN + HEAD);
            x += drawing.draw() + BETWEEN;
        }
        new GpuLinkWires(topology, canvas).draw();
        return canvas;
    }

    private static List<LegendEntry> legend(Map<Gpu, Nearest> nearest, Canvas canvas) {
        List<LegendEntry> entries = new ArrayList<>();
        Map<PathType, String> paths = new EnumMap<>(PathType.class);
        nearest.values().forEach(n -> paths.put(n.type(), "nearest NICs: " + n.type()));
        paths.forEach((type, text) -> entries.add(new LegendEntry.Line(Canvas.colour(type), text)));
        for (BoxKind kind : BoxKind.values()) {
            if (canvas.boxes().stream().anyMatch(box -> box.kind() == kind)) {
                entries.add(new LegendEntry.Area(kind));
            }
        }
        return entries;
    }
}
