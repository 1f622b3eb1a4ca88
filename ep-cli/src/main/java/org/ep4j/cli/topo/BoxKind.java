package org.ep4j.cli.topo;

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

    private final String meaning;
    private final String fill;
    private final String stroke;

    BoxKind(String meaning, String fill, String stroke) {
        this.meaning = meaning;
        this.fill = fill;
        this.stroke = stroke;
    }

    String meaning() {
        return meaning;
    }

    String fill() {
        return fill;
    }

    String stroke() {
        return stroke;
    }
}
