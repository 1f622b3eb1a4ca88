package org.ep4j.topology.read;

import java.util.List;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkBandwidths;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NumaNode;
import org.ep4j.topology.Topology;

/** Links between the NUMA nodes of a host, which no topology file gives. */
final class ProcessorLinks {
    private ProcessorLinks() {}

    /** Links every node with every other. */
    static void connect(Topology.Builder topology, List<NumaNode> nodes) {
        for (int i = 0; i < nodes.size(); i++) {
            for (int j = i + 1; j < nodes.size(); j++) {
                double width = LinkBandwidths.processors(nodes.get(i).processor());
                topology.link(nodes.get(i), nodes.get(j), new Link(LinkType.CPU, width, 1));
            }
        }
    }
}
