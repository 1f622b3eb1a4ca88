package org.ep4j.backend.ibrc;

import java.util.List;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.GidChoice;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Topology;
import org.ep4j.transport.memory.NativeRecord;

/**
 * A port of this rank that is in use.
 *
 * @param device its device
 * @param number from 1
 * @param gidIndex entry of its GID table that is sent from
 * @param maxMessage bytes of a message at most
 * @param retries times that it sends a packet again
 * @param record what peers need to know
 */
record LocalPort(NicDevice device, int number, int gidIndex, int maxMessage, int retries, PortExchange.Port record) {
    private static final System.Logger LOGGER = System.getLogger(LocalPort.class.getName());
    private static final int MOST_GIDS = 256;

    static LocalPort open(NicDevice device, int number, Topology topology, EpConfig config) {
        String name = device.name() + ":" + number;
        NativeRecord port = new NativeRecord(32);
        Errno.check(Verbs.queryPort(device.context(), number, port.address()), "ibv_query_port of " + name);
        if (port.get(0) != Verbs.PORT_ACTIVE) {
            throw new EpUnavailableException("port " + name + " is not active (its ibv_port_state is " + port.get(0)
                    + ", and 4 is active); bring this port up, or leave it out with ep.nic.exclude");
        }
        int index = gidIndex(name, port.get(3), topology.nics(), EpKeys.NIC_GID_INDEX.get(config));
        checkGidIndex(name, index, port.get(4));
        NativeRecord gid = new NativeRecord(16);
        Errno.check(
                Verbs.queryGid(device.context(), number, index, gid.address()),
                "ibv_query_gid of " + name + " at index " + index);
        int reads = Math.min(IbrcKeys.READS.get(config), device.maxIncomingAtomics());
        PortExchange.Port record = new PortExchange.Port(
                name,
                port.get(3),
                port.get(1),
                port.get(2),
                (port.get(6) & Verbs.GRH_REQUIRED) != 0,
                reads,
                PortExchange.Gid.of(gid.buffer()));
        NicFamily family = family(device.name(), topology);
        return new LocalPort(device, number, index, port.get(5), retries(device.name(), family, config), record);
    }

    static NicFamily family(String device, Topology topology) {
        return topology.nics().stream()
                .filter(nic -> nic.name().equals(device))
                .map(Nic::family)
                .findFirst()
                .orElse(NicFamily.OTHER_RDMA);
    }

    private static int retries(String device, NicFamily family, EpConfig config) {
        if (Retries.endless(family, config) && IbrcKeys.RETRIES.setting(config).origin() != EpConfig.Origin.DEFAULT) {
            LOGGER.log(
                    System.Logger.Level.INFO,
                    "{0} does not apply to {1}: ep4j uses 6 there, because soft RoCE retries without limit at 7",
                    IbrcKeys.RETRIES.setting(config),
                    device);
        }
        return Retries.of(family, config);
    }

    /** The index travels in 8 bits, whatever the length of the table. */
    static void checkGidIndex(String name, int index, int tableLength) {
        int most = Math.min(tableLength, MOST_GIDS) - 1;
        if (index > most) {
            throw new EpConfigException(EpKeys.NIC_GID_INDEX.name() + " is " + index + ", but the last GID of " + name
                    + " has index " + most + "; see ./ep topo for the GIDs of the port, or leave the setting out");
        }
    }

    static int gidIndex(String name, int linkLayer, List<Nic> nics, int wanted) {
        NicPort port = nics.stream()
                .flatMap(nic -> nic.ports().stream().filter(one -> (nic.name() + ":" + one.number()).equals(name)))
                .findFirst()
                .orElseGet(() -> unknown(linkLayer));
        GidChoice choice = GidChoice.of(port, wanted);
        // What the user names is tried in any case.
        if (wanted < 0 && !PortGids.works(port, wanted)) {
            boolean unread = choice.verdict() == GidChoice.Verdict.UNKNOWN;
            throw new EpUnavailableException(
                    unread
                            ? "the GIDs of " + name + " cannot be read from /sys/class/infiniband; set "
                                    + EpKeys.NIC_GID_INDEX.name()
                            : "port " + name + " has no GID to send from: " + choice
                                    + "; give its network interface an IPv4 address, or set "
                                    + EpKeys.NIC_GID_INDEX.name());
        }
        return choice.index();
    }

    private static NicPort unknown(int linkLayer) {
        NicReach.LinkLayer layer =
                linkLayer == Verbs.LINK_INFINIBAND ? NicReach.LinkLayer.INFINIBAND : NicReach.LinkLayer.ETHERNET;
        return new NicPort(1, NicPort.State.UNKNOWN, layer, 0, 0, 0, "", List.of());
    }
}
