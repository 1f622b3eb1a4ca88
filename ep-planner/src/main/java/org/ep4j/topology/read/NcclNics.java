package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/** The NICs of a NCCL topology: one for each name of a {@code net} element. */
final class NcclNics {
    /** Megabits a second. Slingshot's plugin has written kilobits; no port is as fast as this. */
    private static final int ABSURD = 10_000_000;

    /** Megabits a second that NCCL takes where there is no speed. */
    private static final int DEFAULT = 10_000;

    /** Begins the warning about NICs of which the file has no speed. */
    static final String UNRATED = "NICs without a speed that can be read count as " + DEFAULT
            + " Mb/s each, as in NCCL, unless the output of ibv_devinfo -v is merged (--merge): ";

    /** Ports that NCCL joins to one device ({@code NCCL_NET_MAX_DEVS_PER_NIC} is 4). */
    private static final int MOST_JOINED = 16;

    /**
     * Suffix of a device that NCCL reaches by its Data Direct function, a PCIe function of ConnectX-8 for GPU memory
     * alone ({@code transport/net_ib}); there is no verbs device of that name.
     */
    private static final String DATA_DIRECT = "_dma";

    /** Ends the assumption about NICs of which only the class is known. */
    static final String SUPPOSED =
            ": plain Ethernet, without RDMA, because their class is Ethernet (0200) and the description has"
                    + " neither their PCI ids nor their verbs ports (merge with the output of ibv_devinfo: --merge)";

    private final Topology.Builder topology;
    private final boolean rates;
    private final Map<String, Integer> names = new HashMap<>();
    private final Map<String, Nic> byName = new HashMap<>();

    /** Ways to NICs by their Data Direct functions. Used after all NICs are known, since either way may come first in a file. */
    private final List<Runnable> dataDirect = new ArrayList<>();

    private final List<String> supposed = new ArrayList<>();
    private final List<String> unrated = new ArrayList<>();
    private int placed;

    /** @param rates whether speeds are used, so that those which cannot be read are warned of */
    NcclNics(Topology.Builder topology, boolean rates) {
        this.topology = topology;
        this.rates = rates;
    }

    /** Where a NIC is: with a bus id, or (virtual NICs, interfaces of sockets) right at the NUMA node. */
    private record Card(NcclTopology.Parent parent, Optional<PciAddress> address, PciId id, Link link) {}

    /** A {@code net} element, and the number of earlier ones on the same card. */
    private record Net(XmlElement element, int earlier) {}

    /** Adds the NICs of a {@code nic} element that is no PCI device. */
    void add(XmlElement nic, NcclTopology.Parent parent) {
        nets(nic, new Card(parent, Optional.empty(), PciId.UNKNOWN, NcclValues.LOCAL));
    }

    /** Adds the NICs of a {@code nic} element in a PCI device. */
    void add(XmlElement pci, XmlElement nic, PciAddress address, NcclTopology.Parent parent) {
        nets(nic, new Card(parent, Optional.of(address), NcclValues.id(pci), NcclValues.link(pci)));
    }

    /** Adds a PCI device of which the file says no more than that it is a NIC. */
    void add(XmlElement pci, PciAddress address, NcclTopology.Parent parent) {
        unnamed(pci, new Card(parent, Optional.of(address), NcclValues.id(pci), NcclValues.link(pci)), address);
    }

    /** Adds ways by Data Direct functions, and the assumptions and warnings about NICs. */
    void finish() {
        dataDirect.forEach(Runnable::run);
        if (!supposed.isEmpty()) {
            topology.assume(String.join(", ", supposed) + SUPPOSED);
        }
        topology.warn(UNRATED, unrated);
    }

    private void nets(XmlElement nic, Card card) {
        Map<List<String>, List<Net>> byName = new LinkedHashMap<>();
        List<XmlElement> nets = nic.children("net");
        for (int i = 0; i < nets.size(); i++) {
            List<String> joined = names(nets.get(i));
            Net net = new Net(nets.get(i), i);
            if (joined.isEmpty()) {
                device(card, List.of(nameless(card, nets.get(i))), List.of(net));
            } else {
                byName.computeIfAbsent(joined, any -> new ArrayList<>()).add(net);
            }
        }
        byName.forEach((joined, same) -> device(card, joined, same));
        if (nets.isEmpty()) {
            card.address().ifPresent(address -> unnamed(nic, card, address));
        }
    }

    /** NCCL joins the ports of a card to one device that has their names and the sum of their speeds. */
    private void device(Card card, List<String> joined, List<Net> nets) {
        XmlElement first = nets.get(0).element();
        String names = String.join("+", joined);
        List<Integer> speeds =
                nets.stream().map(net -> speed(net.element(), names, card.id())).toList();
        for (String name : joined) {
            List<NicPort> ports = IntStream.range(0, nets.size())
                    .mapToObj(i -> port(nets.get(i), speeds.get(i) / (double) joined.size(), card.id()))
                    .toList();
            if (name.endsWith(DATA_DIRECT) && name.length() > DATA_DIRECT.length()) {
                String device = name.substring(0, name.length() - DATA_DIRECT.length());
                dataDirect.add(() -> dataDirect(card, first, device, ports));
            } else {
                place(card, first, name, family(first, name, card.id()), ports);
            }
        }
    }

    /** One port that is reached by two functions is one NIC, with two ways to it. */
    private void dataDirect(Card card, XmlElement net, String device, List<NicPort> ports) {
        Nic known = byName.get(card.parent().host() + " " + device);
        if (known == null) {
            place(card, net, device, family(net, device, card.id()), ports);
        } else {
            topology.link(card.parent().part(), known, card.link());
        }
    }

    /** Names of the devices that were joined, without blank ones; empty when there is no name. */
    private static List<String> names(XmlElement net) {
        return Stream.of(net.value("name").split("\\++", MOST_JOINED))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList();
    }

    private void unnamed(XmlElement at, Card card, PciAddress address) {
        place(card, at.empty("net"), "nic@" + address, NicFamilies.of("", card.id()), List.of());
    }

    private void place(Card card, XmlElement net, String name, NicFamily family, List<NicPort> ports) {
        placed++;
        net.limit(placed, Limits.NICS, "NICs");
        NcclTopology.Parent parent = card.parent();
        String guid = net.value("guid");
        int same = names.merge(parent.host() + " " + name, 1, Integer::sum);
        Nic nic = new Nic(
                parent.host(),
                same == 1 ? name : name + "#" + same,
                card.address(),
                card.id(),
                family,
                "",
                card.address().map(address -> address.card().toString()).orElse(guid.isEmpty() ? name : guid),
                parent.node().number(),
                NcclValues.gpuDirect(net),
                net.number("net").orElse(1) != 0 && NicFamilies.compute(card.id()),
                ports);
        byName.putIfAbsent(parent.host() + " " + nic.name(), nic);
        if (family == NicFamily.ETHERNET
                && card.id().vendor() < 0
                && net.number("port").isEmpty()) {
            supposed.add(nic.name());
        }
        topology.add(nic).link(parent.part(), nic, card.link());
    }

    private static String nameless(Card card, XmlElement net) {
        return card.address().map(address -> "nic@" + address).orElse("net" + net.number("dev", 0, 1 << 20, 0));
    }

    /** Port 0 is NCCL's plugin for sockets; all others are RDMA. */
    private static NicFamily family(XmlElement net, String name, PciId id) {
        NicFamily family = NicFamilies.of("", id);
        OptionalInt port = net.number("port");
        if (port.isEmpty() && family == NicFamily.ETHERNET && NicFamilies.named(name) == NicFamily.OTHER_RDMA) {
            // Neither a port nor ids nor a name show RDMA.
            return NicFamily.ETHERNET;
        }
        if (port.isPresent() && port.getAsInt() < 1) {
            return NicFamily.ETHERNET;
        }
        // Templates leave vendor and device out; then the name of the verbs device is all there is.
        boolean guess = id.vendor() <= 0 && (family == NicFamily.ETHERNET || family == NicFamily.OTHER_RDMA);
        if (guess) {
            return NicFamilies.named(name);
        }
        return family == NicFamily.ETHERNET ? NicFamily.OTHER_RDMA : family;
    }

    /**
     * NCCL writes the number of the port plus the number of earlier devices on the same card ({@code realPort} in
     * {@code transport/net_ib}), so the second function of a card says port 2 although it is port 1 of its own device.
     */
    private static NicPort port(Net net, double megabits, PciId id) {
        int written = net.element().number("port", 1, 255, 1);
        int number = written > net.earlier() ? written - net.earlier() : written;
        NicReach.LinkLayer layer = NicFamilies.linkLayer(id);
        return new NicPort(number, NicPort.State.UNKNOWN, layer, megabits / 1000, 0, 0, "", List.of());
    }

    /** Gives the rate of a device in megabits a second: the sum of all where NCCL joined several. */
    private int speed(XmlElement net, String name, PciId id) {
        int speed = net.number("speed").orElse(0);
        if (speed <= 0) {
            unrated(net, name, id);
            return DEFAULT;
        }
        if (speed >= ABSURD) {
            topology.warn("line " + net.line() + ": speed " + speed + " Mb/s of " + Faults.quote(name)
                    + " is too high, so it is read as kb/s, " + speed / 1000 + " Mb/s");
            return speed / 1000;
        }
        return speed;
    }

    /**
     * Notes a NIC without a speed. Interfaces of containers and virtual machines mostly have none, and nothing uses
     * them.
     */
    private void unrated(XmlElement net, String name, PciId id) {
        if (rates && (!NicFamilies.virtual(name) || family(net, name, id).rdma())) {
            String speed = net.value("speed").isBlank() ? "none" : Faults.quote(net.value("speed"));
            unrated.add(name + " (line " + net.line() + ": " + speed + ")");
        }
    }
}
