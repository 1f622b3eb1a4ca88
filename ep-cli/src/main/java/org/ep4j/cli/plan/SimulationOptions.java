package org.ep4j.cli.plan;

/**
 * How a described machine becomes the ranks of a cluster.
 *
 * @param hosts number of hosts; 0 for as many as the description has
 * @param ranksPerHost ranks of each; 0 for one a GPU, or one a NUMA node where there is none
 * @param domainHosts hosts that share an NVLink domain; 0 for what the description says
 * @param gpuLinks where GPU links are taken from
 * @param device "host" to plan ranks without GPUs, empty for what the machine has
 */
public record SimulationOptions(int hosts, int ranksPerHost, int domainHosts, GpuLinks gpuLinks, String device) {
    /** What the description has. */
    public static final SimulationOptions AS_DESCRIBED = new SimulationOptions(0, 0, 0, GpuLinks.AUTO, "");

    /** Where GPU links are taken from. */
    public enum GpuLinks {
        /** From the description; where it shows none at all, from the model of the GPUs. */
        AUTO,
        /** From the description alone. */
        FILE,
        /** All GPUs of a host are joined by their links through switches. */
        ALL,
        /** There are none. */
        NONE
    }

    /** The same on so many hosts. */
    public SimulationOptions withHosts(int number) {
        return new SimulationOptions(number, ranksPerHost, domainHosts, gpuLinks, device);
    }
}
