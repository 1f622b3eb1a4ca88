package org.ep4j.topology.read;

import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciId;

/**
 * Where an element of a NCCL topology hangs.
 *
 * @param node NUMA node above it
 * @param parent switch or NUMA node right above it
 */
record NcclSeat(NumaNode node, Part parent) {
    int host() {
        return node.host();
    }

    NcclSeat below(Part other) {
        return new NcclSeat(node, other);
    }

    static Link link(XmlElement pci) {
        double rate = NcclValues.pcieRate(
                pci.value("link_speed"), pci.number("link_width").orElse(0));
        return new Link(LinkType.PCI, rate, 1);
    }

    /** The link of an element that is no PCIe device. */
    static Link local() {
        return new Link(LinkType.PCI, LinkBandwidths.UNLIMITED, 1);
    }

    /** Ids of a {@code pci} element. Templates write 0x0000 or 0xffff for ids that they do not know. */
    static PciId id(XmlElement pci) {
        int vendor = pci.number("vendor", 1, 0xfffe, -1);
        int device = pci.number("device", 1, 0xfffe, -1);
        int subVendor = pci.number("subsystem_vendor", 0, 0xffff, -1);
        int subDevice = pci.number("subsystem_device", 0, 0xffff, -1);
        return new PciId(vendor, device, subVendor, subDevice, pci.number("class", 0, 0xffffff, -1));
    }
}
