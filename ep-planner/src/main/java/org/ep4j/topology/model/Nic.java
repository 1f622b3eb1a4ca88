package org.ep4j.topology.model;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.NicFamily;

/**
 * A network device, named as verbs or libfabric name it. The ports of a card are often devices of their own: these have
 * an equal {@link #card}.
 *
 * @param host index of its host
 * @param name {@code mlx5_0}, {@code rdmap79s0}, {@code eth0}; {@code nic@0000:0c:00.0} where the source gives no name
 * @param address its PCI function; empty where the source has none
 * @param physical for a virtual function, the physical one whose ports it sends through; empty for others
 * @param id its PCI ids
 * @param family what it is
 * @param driver kernel driver; empty when unknown
 * @param card equal for devices of one physical card: PCI device or node GUID
 * @param numa NUMA node; -1 when unknown
 * @param gpuDirect whether it can reach GPU memory, as far as the source says
 * @param compute false for devices that carry no traffic of applications, such as those that serve NVLink switches
 * @param ports its ports in the order of their numbers; empty when the source does not list them
 * @param guid node GUID, as {@code a088:c203:0012:3456}; empty when unknown
 * @param listed false where a list of all devices that a process can open, the output of {@code ibv_devinfo}, lacks it
 */
public record Nic(
        int host,
        String name,
        Optional<PciAddress> address,
        Optional<PciAddress> physical,
        PciId id,
        NicFamily family,
        String driver,
        String card,
        int numa,
        Optional<Boolean> gpuDirect,
        boolean compute,
        List<NicPort> ports,
        String guid,
        boolean listed)
        implements Part {
    /** A device of unknown GUID that is not a virtual function. */
    public Nic(
            int host,
            String name,
            Optional<PciAddress> address,
            PciId id,
            NicFamily family,
            String driver,
            String card,
            int numa,
            Optional<Boolean> gpuDirect,
            boolean compute,
            List<NicPort> ports) {
        this(
                host,
                name,
                address,
                Optional.empty(),
                id,
                family,
                driver,
                card,
                numa,
                gpuDirect,
                compute,
                ports,
                "",
                true);
    }

    public Nic {
        ports = List.copyOf(ports);
    }

    /** Sum of the rates of its ports that are not down, in gigabits a second; 0 when none is known. */
    public double gigabitsPerSecond() {
        return ports.stream()
                .filter(port -> port.state() != NicPort.State.DOWN)
                .mapToDouble(NicPort::gigabitsPerSecond)
                .sum();
    }

    /**
     * True for a device that exchanges between hosts may use. Others serve NVLink switches, or are interfaces without RDMA whose
     * traffic stays on the host: sources list what containers and virtual machines are given beside the rest.
     */
    boolean leavesHost() {
        return compute && (family.rdma() || !NicFamilies.virtual(name));
    }

    /**
     * Returns true if {@code other} sends through the same ports: it is the same device, or shares a physical function
     * with it.
     */
    public boolean sharesPorts(Nic other) {
        if (host != other.host()) {
            return false;
        }
        // An address alone says nothing: sources give devices of one card the address of the first.
        return name.equals(other.name())
                || (physical.isPresent() && (physical.equals(other.physical()) || physical.equals(other.address())))
                || (other.physical().isPresent() && other.physical().equals(address));
    }

    /** Returns a copy with a node GUID. */
    public Nic withGuid(String nodeGuid) {
        return new Nic(
                host, name, address, physical, id, family, driver, card, numa, gpuDirect, compute, ports, nodeGuid,
                listed);
    }

    /** Returns a copy under another name, with {@link #listed} false. */
    public Nic unlisted(String other) {
        return new Nic(
                host, other, address, physical, id, family, driver, card, numa, gpuDirect, compute, ports, guid, false);
    }
}
