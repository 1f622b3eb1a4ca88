package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/** Reads the output of {@code ibv_devinfo} alone, or merges it into a machine from another source. */
final class IbvDevinfo {
    private IbvDevinfo() {}

    static boolean recognises(String text) {
        return text.lines().anyMatch(line -> line.strip().startsWith("hca_id:"));
    }

    /** Reads a machine of which only NICs are known. */
    static Topology read(String source, String text) {
        Topology.Builder builder = Topology.builder(source);
        int host = builder.host("");
        for (IbvDevice device : IbvDevice.all(source, text)) {
            builder.add(nic(device, host));
            odd(device).forEach(builder::warn);
        }
        return builder.build();
    }

    static Topology merge(Topology machine, String source, String text) {
        List<IbvDevice> devices = IbvDevice.all(source, text);
        boolean none = text.lines().anyMatch(line -> line.strip().startsWith("No IB devices found"));
        if (devices.isEmpty() && !none) {
            throw Faults.at(
                    source,
                    1,
                    "expected the output of ibv_devinfo, which has \"hca_id:\" for every device; the line is "
                            + Faults.quote(text.lines().findFirst().orElse("")));
        }
        List<Nic> nics = machine.nics().stream().filter(nic -> nic.host() == 0).toList();
        Match match = new Match(nics, devices);
        Set<String> names = devices.stream().map(IbvDevice::name).collect(Collectors.toSet());
        List<String> unlisted = new ArrayList<>();
        Topology.Builder copy = machine.copy(machine.source() + " and " + source, part -> {
            if (!(part instanceof Nic nic) || nic.host() != 0) {
                return Optional.of(part);
            }
            IbvDevice device = match.found.get(nic);
            if (device != null) {
                return Optional.of(merged(nic, device));
            }
            if (!verbs(nic) || match.ambiguous.contains(nic)) {
                return Optional.of(nic);
            }
            unlisted.add(nic.name());
            // Another device may have the name now.
            return Optional.of(nic.unlisted(names.contains(nic.name()) ? nic.name() + "#2" : nic.name()));
        });
        // The text lists all NICs that have verbs.
        copy.withoutAssumptions(NcclNics.SUPPOSED);
        if (devices.isEmpty()) {
            copy.warn(source + " says that ibv_devinfo found no device (\"No IB devices found\")");
        }
        devices.forEach(device -> odd(device).forEach(copy::warn));
        match.doubts.forEach(doubt -> copy.warn(source + ": " + doubt));
        if (!unlisted.isEmpty()) {
            copy.warn(source + " does not list " + String.join(", ", unlisted) + ", which " + machine.source()
                    + " has; ibv_devinfo lists every device that a process can open, so these NICs are not used");
        }
        match.lacking.forEach(device -> {
            copy.add(nic(device, 0));
            copy.warn(source + " has " + device.name() + ", which " + machine.source()
                    + " lacks; the NIC is added, but its distance to other devices is not known");
        });
        return copy.build();
    }

    /** Returns true for what {@code ibv_devinfo} would list: all RDMA but Slingshot, which has no verbs. */
    private static boolean verbs(Nic nic) {
        return nic.family().rdma() && nic.family() != NicFamily.CXI;
    }

    private static Nic nic(IbvDevice device, int host) {
        PciId id = new PciId(device.vendor(), device.part(), -1, -1, -1);
        return new Nic(
                        host,
                        device.name(),
                        Optional.empty(),
                        id,
                        family(id),
                        "",
                        device.card().isEmpty() ? device.name() : device.card(),
                        -1,
                        Optional.empty(),
                        true,
                        device.ports())
                .withGuid(device.guid());
    }

    /** Completes a NIC of the machine by the device. */
    private static Nic merged(Nic nic, IbvDevice device) {
        boolean unknown = nic.id().vendor() < 0;
        PciId id = unknown
                ? new PciId(device.vendor(), device.part(), -1, -1, nic.id().classCode())
                : nic.id();
        boolean guessed = nic.driver().isEmpty() && unknown;
        return new Nic(
                nic.host(),
                device.name(),
                nic.address(),
                nic.physical(),
                id,
                guessed ? family(id) : nic.family(),
                nic.driver(),
                device.card().isEmpty() ? nic.card() : device.card(),
                nic.numa(),
                nic.gpuDirect(),
                nic.compute(),
                ports(nic, device),
                device.guid().isEmpty() ? nic.guid() : device.guid(),
                true);
    }

    private static List<NicPort> ports(Nic nic, IbvDevice device) {
        Map<Integer, NicPort> known = new HashMap<>();
        nic.ports().forEach(port -> known.put(port.number(), port));
        List<NicPort> ports = new ArrayList<>();
        for (NicPort port : device.ports()) {
            NicPort old = known.getOrDefault(port.number(), NicPort.of(port.number(), 0));
            ports.add(new NicPort(
                    port.number(),
                    port.state(),
                    port.linkLayer(),
                    port.gigabitsPerSecond() > 0 ? port.gigabitsPerSecond() : old.gigabitsPerSecond(),
                    port.activeMtu(),
                    port.lid(),
                    old.netdev(),
                    port.gids().isEmpty() ? old.gids() : gids(port.gids(), old.gids()),
                    port.gidsRead() || old.gidsRead(),
                    old.network()));
        }
        return ports;
    }

    /** Entries of the output, with what the machine knew of the same entries. */
    private static List<Gid> gids(List<Gid> read, List<Gid> known) {
        return read.stream()
                .map(gid -> known.stream()
                        .filter(old ->
                                old.index() == gid.index() && old.address().equals(gid.address()))
                        .findFirst()
                        .orElse(gid))
                .toList();
    }

    private static NicFamily family(PciId id) {
        NicFamily family = NicFamilies.of("", id);
        // It has verbs, so it is no plain Ethernet.
        return family == NicFamily.ETHERNET ? NicFamily.OTHER_RDMA : family;
    }

    private static List<String> odd(IbvDevice device) {
        List<String> odd = new ArrayList<>(device.lost());
        if (device.atomics().startsWith("ATOMIC_NONE")) {
            odd.add(device.name() + " has no atomics (" + device.atomics() + ")");
        }
        return odd;
    }

    /**
     * Matches NICs of a machine with devices of {@code ibv_devinfo}: by node GUID where both have it, for names change;
     * then by name; then by the PCI function that rdma-core puts into names ({@code rocep65s0f1}). A NIC without a name
     * is taken for the only device with its ids that is left.
     */
    private static final class Match {
        /** Names of rdma-core's {@code kernel-boot/rdma_rename.c} by PCI function; numbers are decimal. */
        private static final Pattern BY_PCI =
                Pattern.compile("(?:ib|roce|iw|opa|rdma)(?:P(\\d{1,5}))?p(\\d{1,3})s(\\d{1,2})(?:f(\\d))?");

        private final Map<Nic, IbvDevice> found = new LinkedHashMap<>();
        private final List<Nic> nics;

        /** Devices that match no NIC of the machine. */
        private final List<IbvDevice> lacking;

        /** NICs without a name that may be one of several devices. */
        private final Set<Nic> ambiguous = new HashSet<>();

        /** Warnings about odd matches. */
        private final List<String> doubts = new ArrayList<>();

        Match(List<Nic> nics, List<IbvDevice> devices) {
            this.nics = nics;
            this.lacking = new ArrayList<>(devices);
            pair(Match::sameGuid);
            pair((nic, device) -> nic.name().equals(device.name()));
            pair((nic, device) -> nic.address().isPresent() && nic.address().equals(byPci(device.name())));
            nameless();
            found.forEach(this::doubt);
        }

        /** Pairs those that match one another and nothing else. */
        private void pair(BiPredicate<Nic, IbvDevice> same) {
            for (IbvDevice device : List.copyOf(lacking)) {
                List<Nic> alike = left(nic -> same.test(nic, device));
                boolean alone = alike.size() == 1
                        && lacking.stream()
                                        .filter(other -> same.test(alike.get(0), other))
                                        .count()
                                == 1;
                if (alone) {
                    found.put(alike.get(0), device);
                    lacking.remove(device);
                }
            }
        }

        private void nameless() {
            Predicate<Nic> unnamed = nic -> nic.name().startsWith("nic@");
            pair((nic, device) -> unnamed.test(nic) && sameIds(nic, device));
            ambiguous.addAll(left(nic -> unnamed.test(nic)
                    && lacking.stream().anyMatch(device -> nic.id().vendor() < 0 || sameIds(nic, device))));
            if (!ambiguous.isEmpty()) {
                doubts.add("it is not known which devices of this output are the NICs "
                        + ambiguous.stream().map(Nic::name).sorted().collect(Collectors.joining(", "))
                        + " of the machine; these NICs stay unchanged");
            }
        }

        private void doubt(Nic nic, IbvDevice device) {
            if (!nic.name().equals(device.name())) {
                doubts.add(nic.name() + " of the machine is " + device.name()
                        + " in this output, and gets the name from the output");
            } else if (!nic.guid().isEmpty()
                    && !device.guid().isEmpty()
                    && !nic.guid().equals(device.guid())) {
                doubts.add(device.name() + " has node GUID " + device.guid() + " in this output, and " + nic.guid()
                        + " on the machine; use the output of the same machine");
            }
        }

        private List<Nic> left(Predicate<Nic> wanted) {
            return nics.stream()
                    .filter(nic -> !found.containsKey(nic) && wanted.test(nic))
                    .toList();
        }

        private static boolean sameGuid(Nic nic, IbvDevice device) {
            return !nic.guid().isEmpty() && nic.guid().equals(device.guid());
        }

        private static boolean sameIds(Nic nic, IbvDevice device) {
            return nic.id().vendor() >= 0
                    && nic.id().vendor() == device.vendor()
                    && nic.id().device() == device.part();
        }

        private static Optional<PciAddress> byPci(String name) {
            Matcher place = BY_PCI.matcher(name);
            return place.matches()
                    ? Optional.of(
                            new PciAddress(number(place, 1), number(place, 2), number(place, 3), number(place, 4)))
                    : Optional.empty();
        }

        private static int number(Matcher place, int group) {
            return Optional.ofNullable(place.group(group))
                    .map(Integer::parseInt)
                    .orElse(0);
        }
    }
}
