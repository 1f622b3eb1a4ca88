package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.cli.topo.Canvas.Box;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.cli.topo.Canvas.Lanes;
import org.ep4j.cli.topo.Canvas.Rect;
import org.ep4j.cli.topo.Canvas.Wire;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Host;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;

/** Links between GPUs, below them: a bar for their switches or for a full mesh, else a wire for every pair. */
record GpuLinkWires(Topology topology, Canvas canvas) {
    private static final double BAR = 26;
    private static final double GAP = 22;
    private static final double LANE = 7;

    /** Most wires that are drawn; more than a person can distinguish. */
    private static final int MOST_ARCS = 2000;

    private static final String COLOUR = "#2e7d32";

    private record Pair(Gpu a, Gpu b, String name, int count) {}

    void draw() {
        double y = canvas.bottom() + GAP;
        for (GpuSwitch bar : topology.only(GpuSwitch.class)) {
            List<Gpu> gpus = topology.gpus().stream()
                    .filter(gpu -> topology.neighbours(bar).contains(gpu))
                    .toList();
            bar(gpus, new PartText(topology).gpuSwitch(bar), y);
            y += gpus.isEmpty() ? 0 : BAR + GAP;
        }
        for (Host host : topology.hosts()) {
            host(host.index(), y);
        }
    }

    private void host(int host, double y) {
        List<Gpu> gpus =
                topology.gpus().stream().filter(gpu -> gpu.host() == host).toList();
        List<Pair> pairs = pairs(gpus);
        int all = gpus.size() * (gpus.size() - 1) / 2;
        boolean alike = pairs.stream().map(Pair::name).distinct().count() == 1;
        if (gpus.size() > 2 && pairs.size() == all && alike) {
            bar(gpus, pairs.get(0).name() + " between every two of " + gpus.size() + " GPUs", y);
        } else if (pairs.size() > MOST_ARCS) {
            bar(gpus, pairs.size() + " pairs of " + gpus.size() + " GPUs have links", y);
        } else {
            arcs(pairs, y);
        }
    }

    private List<Pair> pairs(List<Gpu> gpus) {
        List<Pair> found = new ArrayList<>();
        for (int i = 0; i < gpus.size(); i++) {
            Map<Part, ?> reach = topology.stated() ? topology.distances(gpus.get(i)) : Map.of();
            for (int j = i + 1; j < gpus.size(); j++) {
                Gpu a = gpus.get(i);
                Gpu b = gpus.get(j);
                for (Link link : topology.links(a, b)) {
                    if (link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI) {
                        found.add(new Pair(a, b, PartText.name(link.type()), link.count()));
                    }
                }
                if (reach.containsKey(b)
                        && topology.distance(a, b)
                                .filter(d -> d.type() == PathType.NVL)
                                .isPresent()) {
                    found.add(new Pair(a, b, "GPU links", 1));
                }
            }
        }
        return found;
    }

    private void bar(List<Gpu> gpus, String text, double y) {
        List<Rect> places =
                gpus.stream().filter(canvas::has).map(canvas::outer).distinct().toList();
        if (places.isEmpty()) {
            return;
        }
        double from = places.stream().mapToDouble(Rect::x).min().orElse(0);
        double to = places.stream().mapToDouble(Rect::right).max().orElse(0);
        canvas.add(new Box(BoxKind.GPU_LINKS, new Rect(from, y, to - from, BAR), List.of(text), text));
        for (Rect place : places) {
            Wire.Segment down = new Wire.Segment(place.centreX(), place.bottom(), place.centreX(), y);
            canvas.add(new Wire(List.of(down), COLOUR, 3, ""));
        }
    }

    private void arcs(List<Pair> pairs, double y) {
        Map<Gpu, Integer> degree = new HashMap<>();
        Map<Gpu, Integer> used = new HashMap<>();
        pairs.forEach(pair -> List.of(pair.a(), pair.b()).forEach(gpu -> degree.merge(gpu, 1, Integer::sum)));
        Lanes lanes = new Lanes();
        for (Pair pair : pairs) {
            double a = port(pair.a(), degree, used);
            double b = port(pair.b(), degree, used);
            int lane = lanes.take(Math.min(a, b), Math.max(a, b));
            double at = y + lane * LANE;
            canvas.add(new Wire(
                    List.of(
                            new Wire.Segment(a, canvas.place(pair.a()).bottom(), a, at),
                            new Wire.Segment(a, at, b, at),
                            new Wire.Segment(b, at, b, canvas.place(pair.b()).bottom())),
                    COLOUR,
                    Math.min(3, 1 + 0.5 * (pair.count() - 1)),
                    pair.a().name() + " to " + pair.b().name() + ": " + pair.name() + " x" + pair.count()));
        }
    }

    private double port(Gpu gpu, Map<Gpu, Integer> degree, Map<Gpu, Integer> used) {
        int port = used.merge(gpu, 1, Integer::sum);
        Rect place = canvas.place(gpu);
        return place.x() + place.width() * port / (degree.getOrDefault(gpu, 1) + 1);
    }
}
