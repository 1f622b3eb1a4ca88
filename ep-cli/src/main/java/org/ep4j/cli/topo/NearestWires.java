package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.cli.topo.Canvas.Lanes;
import org.ep4j.cli.topo.Canvas.Rect;
import org.ep4j.cli.topo.Canvas.Wire;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;

/**
 * Wires from GPUs to their nearest NICs. GPUs with the same nearest NICs share one wire in the corridor between NICs and GPUs;
 * wires that would touch get lanes of their own.
 */
final class NearestWires {
    private static final double LANE = 10;
    private static final double MARGIN = 12;
    /** Wires that run down beside a NIC, side by side. */
    private static final int BESIDE = 5;

    private final Map<Nearest, List<Gpu>> bundles = new LinkedHashMap<>();
    private final Map<Nearest, Integer> chosen = new LinkedHashMap<>();
    private final Lanes lanes = new Lanes();

    /** Assigns lanes to the wires of a host, whose devices have the columns of {@code columns}. */
    NearestWires(Map<Gpu, Nearest> all, Canvas columns, int host) {
        all.forEach((gpu, nearest) -> {
            if (gpu.host() == host) {
                bundles.computeIfAbsent(nearest, n -> new ArrayList<>()).add(gpu);
            }
        });
        bundles.forEach((nearest, gpus) -> {
            List<Rect> ends = Stream.concat(
                            nearest.nics().stream().map(columns::place),
                            gpus.stream().map(columns::outer))
                    .toList();
            double from = ends.stream().mapToDouble(Rect::x).min().orElse(0);
            double to = ends.stream().mapToDouble(Rect::right).max().orElse(0);
            chosen.put(nearest, lanes.take(from, to));
        });
    }

    /** Height of the corridor. */
    double height() {
        return 2 * MARGIN + lanes.count() * LANE;
    }

    /** Draws the wires onto a canvas that has the devices. */
    void draw(Canvas canvas, double corridorTop) {
        bundles.forEach((nearest, gpus) -> draw(canvas, nearest, gpus, corridorTop + MARGIN));
    }

    private void draw(Canvas canvas, Nearest nearest, List<Gpu> gpus, double firstLane) {
        int lane = chosen.getOrDefault(nearest, 0);
        double y = firstLane + lane * LANE;
        double shift = lane % BESIDE;
        List<Wire.Segment> segments = new ArrayList<>();
        for (Nic nic : nearest.nics()) {
            Rect place = canvas.place(nic);
            double x = place.x() - 4 - 3 * shift;
            segments.add(new Wire.Segment(place.x(), place.centreY(), x, place.centreY()));
            segments.add(new Wire.Segment(x, place.centreY(), x, y));
        }
        gpus.stream().map(canvas::outer).distinct().forEach(place -> {
            double x = place.centreX() + 6 * (shift - 2);
            segments.add(new Wire.Segment(x, y, x, place.y()));
        });
        DoubleSummaryStatistics ends =
                segments.stream().mapToDouble(Wire.Segment::x2).summaryStatistics();
        segments.add(new Wire.Segment(ends.getMin(), y, ends.getMax(), y));
        canvas.add(new Wire(segments, Canvas.colour(nearest.type()), 2.5, tip(nearest, gpus)));
    }

    private static String tip(Nearest nearest, List<Gpu> gpus) {
        return gpus.stream().map(Gpu::name).collect(Collectors.joining(", ")) + " to "
                + nearest.nics().stream().map(Nic::name).collect(Collectors.joining(", ")) + ": " + nearest.type();
    }
}
