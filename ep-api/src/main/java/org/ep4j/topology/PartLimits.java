package org.ep4j.topology;

import java.util.stream.Stream;

/**
 * What a topology may hold. Files come from other people, and everything that is made of a topology grows with the number of
 * pairs of its parts; the numbers are some times what the largest machine of today has.
 */
final class PartLimits {
    private static final int HOSTS = 1024;

    /** Each is linked with all others of its host. A superchip with four GPUs has 34. */
    private static final int NUMA_NODES = 512;

    private static final int SWITCHES = 8192;

    /** Pairs of a GPU and another GPU or NIC: 576 GPUs with two NICs each have a million. */
    private static final int PAIRS = 1 << 20;

    private static final int PORTS = 255;
    private static final int GIDS = 1 << 16;

    /** Characters of a name. Linux has 63 for a verbs device and 15 for an interface. */
    private static final int NAME = 256;

    private static final int SHOWN = 40;

    private final String source;
    private int hosts;
    private int numaNodes;
    private int switches;
    private int gpus;
    private int nics;
    private int gids;

    PartLimits(String source) {
        this.source = source;
    }

    void host(String name) {
        hosts++;
        check(hosts, HOSTS, "hosts");
        name("host", name);
    }

    void part(Part part) {
        if (part instanceof Gpu gpu) {
            gpus++;
            check(gpus, Topology.MOST_GPUS, "GPUs");
            names("GPU", gpu.name(), gpu.architecture(), gpu.model(), gpu.clique());
        } else if (part instanceof Nic nic) {
            nics++;
            check(nics, Topology.MOST_NICS, "NICs");
            nic(nic);
        } else if (part instanceof NumaNode node) {
            numaNodes++;
            check(numaNodes, NUMA_NODES, "NUMA nodes");
            names("processor", node.processor().vendor(), node.processor().architecture());
        } else {
            switches++;
            check(switches, SWITCHES, "switches and host bridges");
            name("switch", part.label());
        }
        long pairs = (long) gpus * (gpus + nics);
        if (pairs > PAIRS) {
            throw refused("has " + gpus + " GPUs and " + nics + " NICs, which makes " + pairs
                    + " pairs of a GPU and another device; at most " + PAIRS
                    + " are read: describe one machine or NVLink domain");
        }
    }

    private void nic(Nic nic) {
        names("NIC", nic.name(), nic.driver(), nic.card());
        if (nic.ports().size() > PORTS) {
            throw refused("NIC " + nic.name() + " has " + nic.ports().size() + " ports; at most " + PORTS
                    + " are read: describe the ports that it has");
        }
        for (NicPort port : nic.ports()) {
            names("interface", port.netdev(), port.network());
            port.gids().forEach(gid -> names("GID", gid.address(), gid.type(), gid.netdev()));
            gids += port.gids().size();
        }
        check(gids, GIDS, "GIDs");
    }

    private void check(int number, int most, String what) {
        if (number > most) {
            throw refused("has more than " + most + " " + what
                    + ", and no machine has as many: describe one machine or NVLink domain");
        }
    }

    private void names(String what, String... names) {
        Stream.of(names).forEach(name -> name(what, name));
    }

    private void name(String what, String name) {
        if (name.length() > NAME) {
            throw refused("a name of a " + what + " has " + name.length() + " characters, beginning \""
                    + Printable.of(name.substring(0, SHOWN)) + "\"; at most " + NAME + " are read: shorten it");
        }
    }

    private TopologyException refused(String reason) {
        return new TopologyException(Printable.of(source) + ": " + reason);
    }
}
