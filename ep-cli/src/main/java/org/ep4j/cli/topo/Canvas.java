package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.Part;

/** A drawing in the making: boxes, wires, and where parts were put. Not safe for use from several threads. */
final class Canvas {
    private final List<Box> boxes = new ArrayList<>();
    private final List<Wire> wires = new ArrayList<>();
    private final Map<Part, Rect> places = new HashMap<>();
    private final Map<Part, Rect> packages = new HashMap<>();

    void add(Box box) {
        boxes.add(box);
    }

    void add(Wire wire) {
        wires.add(wire);
    }

    /** Adds the box of a device. */
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

    /** Where wires of a GPU end: its frame where it has one. */
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
