package org.ep4j.cli.topo;

import org.ep4j.topology.PathType;

/** Colours of path types, from near to far; told apart by people who do not see red and green, too. */
final class PathColour {
    private PathColour() {}

    static String of(PathType type) {
        return switch (type) {
            case LOC, NVL, NVB, C2C, PIX -> "#00796b";
            case PXB -> "#1976d2";
            case P2C -> "#512da8";
            case PHB -> "#f57c00";
            case NODE -> "#c2185b";
            case SYS -> "#b71c1c";
        };
    }
}
