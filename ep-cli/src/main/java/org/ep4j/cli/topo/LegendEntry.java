package org.ep4j.cli.topo;

/** An entry of the legend. */
sealed interface LegendEntry {
    /** A colour of wires. */
    record Line(String colour, String meaning) implements LegendEntry {}

    /** A kind of box. */
    record Area(BoxKind kind) implements LegendEntry {}
}
