package org.ep4j.topology.model;

/**
 * A NUMA node: memory and the processor cores near it.
 *
 * @param host index of its host
 * @param number its number there; -1 where the source knows of no NUMA nodes
 * @param processor what its cores are
 * @param processors hardware threads of its cores; 0 when unknown or none
 */
public record NumaNode(int host, int number, Processor processor, int processors) implements Part {
    /** Creates a node with an unknown number of hardware threads. */
    public NumaNode(int host, int number, Processor processor) {
        this(host, number, processor, 0);
    }

    @Override
    public String name() {
        return number < 0 ? "NUMA unknown" : "NUMA " + number;
    }
}
