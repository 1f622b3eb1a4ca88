package org.ep4j.cli.topo;

/** A rectangle of a drawing, in user units; y grows downwards. */
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

    /** True when they share an area. */
    boolean overlaps(Rect other) {
        return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
    }

    /** True when nothing of the other lies outside. */
    boolean contains(Rect other) {
        return x <= other.x && y <= other.y && other.right() <= right() && other.bottom() <= bottom();
    }
}
