package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Part;

/** A drawing in the making: boxes, wires, and where parts were put. Not safe for use from several threads. */
final class Canvas {
    /** A rectangle in user units; y grows downwards. */
    record Rect(double x, double y, double width, double height) {
        double right() {
            return x + width;
        }

        double bottom() {
            return y + height;
        }

        double centreX() {
            return x + width / 2;
        }

        double centreY() {
            return y + height / 2;
        }
    }

    /**
     * A box with text.
     *
     * @param kind of what it stands for
     * @param place of the box
     * @param lines text inside, cut where it is too long
     * @param tip all that is known, shown under the pointer and read aloud
     */
    record Box(BoxKind kind, Rect place, List<String> lines, String tip) {}

    /** Kinds of box, with their colours: fills are pale, so that dark text reads well on all of them. */
    enum BoxKind {
        HOST("host", "#eceff1", "#90a4ae"),
        NUMA("NUMA node", "#e3f2fd", "#64b5f6"),
        SWITCH("PCI root or switch", "#f3e5f5", "#ba68c8"),
        NIC("NIC", "#fff8e1", "#ffb300"),
        IDLE_NIC("NIC not for traffic, or down", "#f5f5f5", "#bdbdbd"),
        PACKAGE("partitions of one GPU", "#f1f8e9", "#aed581"),
        GPU("GPU", "#dcedc8", "#689f38"),
        GPU_LINKS("GPU links", "#c8e6c9", "#2e7d32");

        final String meaning;
        final String fill;
        final String stroke;

        BoxKind(String meaning, String fill, String stroke) {
            this.meaning = meaning;
            this.fill = fill;
            this.stroke = stroke;
        }
    }

    /**
     * Straight lines that belong together.
     *
     * @param segments the lines
     * @param colour their colour
     * @param width their width
     * @param tip their meaning; empty for plain connections
     */
    record Wire(List<Segment> segments, String colour, double width, String tip) {
        record Segment(double x1, double y1, double x2, double y2) {}
    }

    /** Parallel lanes for horizontal wires: two wires share one only when they do not touch. */
    static final class Lanes {
        private record Span(double from, double to) {}

        private final List<List<Span>> lanes = new ArrayList<>();

        /** The first lane with room between two places. */
        int take(double from, double to) {
            for (int i = 0; i < lanes.size(); i++) {
                if (lanes.get(i).stream().allMatch(span -> span.to() < from || to < span.from())) {
                    lanes.get(i).add(new Span(from, to));
                    return i;
                }
            }
            lanes.add(new ArrayList<>(List.of(new Span(from, to))));
            return lanes.size() - 1;
        }

        int count() {
            return lanes.size();
        }
    }

    /** An entry of the legend. */
    sealed interface LegendEntry {
        record Line(String colour, String meaning) implements LegendEntry {}

        record Area(BoxKind kind) implements LegendEntry {}
    }

    private final List<Box> boxes = new ArrayList<>();
    private final List<Wire> wires = new ArrayList<>();
    private final Map<Part, Rect> places = new HashMap<>();
    private final Map<Part, Rect> packages = new HashMap<>();

    /** Returns the colour of a path type. People who do not see red and green can distinguish these colours, too. */
    static String colour(PathType type) {
        return switch (type) {
            case LOC, NVL, NVB, C2C, PIX -> "#00796b";
            case PXB -> "#1976d2";
            case P2C -> "#512da8";
            case PHB -> "#f57c00";
            case NODE -> "#c2185b";
            case SYS -> "#b71c1c";
        };
    }

    void add(Box box) {
        boxes.add(box);
    }

    void add(Wire wire) {
        wires.add(wire);
    }

    void add(Part part, Box box) {
        boxes.add(box);
        places.put(part, box.place());
    }

    /** Notes the frame around partitions of one GPU. */
    void frame(Part part, Rect frame) {
        packages.put(part, frame);
    }

    List<Box> boxes() {
        return boxes;
    }

    List<Wire> wires() {
        return wires;
    }

    boolean has(Part part) {
        return places.containsKey(part);
    }

    Rect place(Part part) {
        return places.getOrDefault(part, new Rect(0, 0, 0, 0));
    }

    /** Returns the rectangle at which wires of a GPU end: its frame where it has one. */
    Rect outer(Part part) {
        return packages.getOrDefault(part, place(part));
    }

    double bottom() {
        double boxBottom =
                boxes.stream().mapToDouble(box -> box.place().bottom()).max().orElse(0);
        double wireBottom = wires.stream()
                .flatMap(wire -> wire.segments().stream())
                .mapToDouble(segment -> Math.max(segment.y1(), segment.y2()))
                .max()
                .orElse(0);
        return Math.max(boxBottom, wireBottom);
    }

    double right() {
        return boxes.stream().mapToDouble(box -> box.place().right()).max().orElse(0);
    }
}
