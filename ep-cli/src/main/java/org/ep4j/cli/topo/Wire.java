package org.ep4j.cli.topo;

import java.util.List;

/**
 * Straight lines that belong together.
 *
 * @param segments the lines
 * @param colour their colour
 * @param width their width
 * @param tip what they stand for; empty for mere connections
 */
record Wire(List<Segment> segments, String colour, double width, String tip) {
    Wire {
        segments = List.copyOf(segments);
    }

    /** From one point to another. */
    record Segment(double x1, double y1, double x2, double y2) {}

    /** A thin grey connection. */
    static Wire plain(Segment segment) {
        return new Wire(List.of(segment), "#90a4ae", 1.5, "");
    }
}
