package org.ep4j.topology;

/** Why a process cannot send from a port of a NIC; in messages, the text follows the name of the port. */
public enum PortObstacle {
    /** The link is down. */
    DOWN("down"),
    /** What its GIDs stand for is in another network namespace, as in containers that see all devices of their host. */
    OTHER_NAMESPACE("network interface in another network namespace"),
    /** Its table of GIDs is empty, or the entry that a setting names is. */
    NO_GID("no GID to send from"),
    /** Connections from link-local GIDs fail or time out: they are made from the MAC address, and are not routed. */
    LINK_LOCAL("only link-local GIDs, because the network interface has no address"),
    /** The output of {@code ibv_devinfo}, which lists every device that a process can open, lacks the device. */
    NOT_LISTED("ibv_devinfo does not list the device");

    private final String text;

    PortObstacle(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
