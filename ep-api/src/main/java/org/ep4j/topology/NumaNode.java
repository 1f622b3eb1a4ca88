package org.ep4j.topology;

/**
 * A NUMA node: memory and the processor cores near it.
 *
 * @param host index of its host
 * @param number its number there; -1 where the source knows of no NUMA nodes
 * @param processor what its cores are
 */
public record NumaNode(int host, int number, Processor processor) implements Part {
    @Override
    public String label() {
        return number < 0 ? "NUMA unknown" : "NUMA " + number;
    }
}
