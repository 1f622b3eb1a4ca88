package org.ep4j.cli.topo;

import org.ep4j.cli.topo.Canvas.Rect;

/** How rectangles lie to each other. */
final class Rects {
    private Rects() {}

    /** Returns whether they share an area. */
    static boolean overlap(Rect a, Rect b) {
        return a.x() < b.right() && b.x() < a.right() && a.y() < b.bottom() && b.y() < a.bottom();
    }

    /** Returns whether nothing of {@code inner} lies outside of {@code outer}. */
    static boolean contains(Rect outer, Rect inner) {
        return outer.x() <= inner.x()
                && outer.y() <= inner.y()
                && inner.right() <= outer.right()
                && inner.bottom() <= outer.bottom();
    }
}
