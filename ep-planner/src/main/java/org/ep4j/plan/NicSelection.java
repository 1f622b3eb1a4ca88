package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;
import org.ep4j.config.NicMap;
import org.ep4j.config.NicPattern;
import org.ep4j.config.PortName;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;

/** The NIC ports that one rank may use: a {@link NicChoice}, applied to the machine of the rank. */
final class NicSelection {
    private final NicChoice choice;
    private final Locality all;
    private final int gpu;
    private final NicMap map;
    private final NicPattern include;
    private final NicPattern exclude;
    private final boolean fixed;
    /** Ports that the map names for the rank, in this order; empty where it names none. */
    private final List<PortName> entries;

    /** Applies a choice without checking it against the machine; {@code gpu} is -1 for a rank without one. */
    NicSelection(NicChoice choice, Locality all, int gpu) {
        this.choice = choice;
        this.all = all;
        this.gpu = gpu;
        this.map = NicMap.parse(choice.map());
        this.include = NicPattern.parse(choice.include());
        this.exclude = NicPattern.parse(choice.exclude());
        List<PortName> own = map.of(gpu);
        this.fixed = !own.isEmpty();
        this.entries = fixed ? own : map.rest();
    }

    /** Applies a choice to a rank, and refuses one that does not fit the machine. */
    static NicSelection of(RankProfile profile, NicChoice choice) {
        NicSelection selection = new NicSelection(choice, profile.locality(), gpu(profile));
        selection.check(profile.label());
        return selection;
    }

    /** Index of a rank's GPU on its host; -1 for a rank without one. */
    static int gpu(RankProfile profile) {
        return gpu(profile.locality(), profile.device());
    }

    /** Index of the GPU of a rank on {@code device}; -1 for a rank without one. */
    static int gpu(Locality locality, Device device) {
        return locality.gpu() >= 0 || !device.isGpu() ? locality.gpu() : device.ordinal();
    }

    /** True when the map names the rank's GPU, so that nothing is left to assign. */
    boolean fixed() {
        return fixed;
    }

    /** True when the choice leaves some NICs out, and does not fix the ports of the rank. */
    boolean limits() {
        return !fixed && locality().nics().size() < all.nics().size();
    }

    /** The machine around the rank, with the NICs that it may use. */
    Locality locality() {
        if (choice.equals(NicChoice.AUTO)) {
            return all;
        }
        List<NicReach> nics = new ArrayList<>();
        for (NicReach nic : all.nics()) {
            List<NicReach.Port> ports = nic.ports().stream()
                    .filter(port -> allows(new PortName(nic.name(), port.number())))
                    .toList();
            Map<Integer, PortObstacle> obstacles = new TreeMap<>(nic.obstacles());
            obstacles.keySet().removeIf(port -> !allows(new PortName(nic.name(), port)));
            if (isPortless(nic) ? allows(new PortName(nic.name(), 1)) : !ports.isEmpty() || !obstacles.isEmpty()) {
                nics.add(nic.toBuilder().ports(ports).obstacles(obstacles).build());
            }
        }
        return all.toBuilder().nics(nics).build();
    }

    /** An offer with the NIC ports that the rank may use; no path when none is left. */
    Offer narrow(Offer offer) {
        if (!offer.isPath() || offer.nics().isEmpty() || choice.equals(NicChoice.AUTO)) {
            return offer;
        }
        List<String> allowed = offer.nics().stream()
                .filter(name -> allows(PortName.parse(name)))
                .sorted(Comparator.comparingInt(name -> place(PortName.parse(name))))
                .toList();
        if (allowed.isEmpty()) {
            return Offer.none(
                    "the settings exclude all usable ports (" + String.join(", ", offer.nics()) + "): "
                            + choice.settings(),
                    "change the settings, or use another backend");
        }
        return offer.toBuilder().nics(allowed).build();
    }

    private boolean allows(PortName port) {
        return (entries.isEmpty() || place(port) < entries.size())
                && (include.isEmpty() || include.matches(port))
                && (exclude.isEmpty() || !exclude.matches(port));
    }

    /** Place of a port among those that the map names; past the last one when it is not among them. */
    private int place(PortName port) {
        for (int i = 0; i < entries.size(); i++) {
            if (means(entries.get(i), port)) {
                return i;
            }
        }
        return entries.size();
    }

    private static boolean means(PortName entry, PortName port) {
        return entry.nic().equals(port.nic()) && (entry.port() == 0 || entry.port() == port.port());
    }

    /** True where the source of the topology lists no port of a NIC. */
    private static boolean isPortless(NicReach nic) {
        return nic.ports().isEmpty() && nic.obstacles().isEmpty();
    }

    private void check(String rank) {
        String setting = choice.says(EpKeys.NIC_MAP, choice.map()) + " of " + rank;
        if (gpu >= 0 && !map.isEmpty() && entries.isEmpty()) {
            throw new EpConfigException(setting + " has no NIC for GPU " + gpu + "; add " + gpu
                    + ":NIC, or *:NIC for all GPUs that the map does not name" + there());
        }
        if (all.nics().stream().noneMatch(nic -> nic.family().rdma())) {
            return;
        }
        entries.forEach(entry -> checkThere(entry, setting));
        // A list that only excludes may leave nothing: the backends say then that they have no NIC.
        boolean names = !entries.isEmpty() || (!include.isEmpty() && !include.negated());
        if (names && locality().nics().isEmpty()) {
            throw new EpConfigException(rank + " is left without a NIC by " + choice.settings() + there());
        }
    }

    private void checkThere(PortName entry, String setting) {
        List<NicReach> named = all.nics().stream()
                .filter(nic -> nic.name().equals(entry.nic()))
                .toList();
        if (named.isEmpty()) {
            throw new EpConfigException(setting + " names " + entry + ", and there is no NIC " + entry.nic()
                    + " that this rank can use" + there());
        }
        // One that cannot be used now is left to the reasons of backends: others may need no NIC.
        boolean exists = named.stream()
                .anyMatch(nic -> isPortless(nic)
                        || Stream.concat(
                                        nic.ports().stream().map(NicReach.Port::number),
                                        nic.obstacles().keySet().stream())
                                .anyMatch(port -> means(entry, new PortName(nic.name(), port))));
        if (!exists) {
            throw new EpConfigException(setting + " names " + entry + ", which does not exist" + there());
        }
    }

    private String there() {
        List<String> ports = new ArrayList<>();
        for (NicReach nic : all.nics()) {
            nic.ports().forEach(port -> ports.add(nic.name() + ":" + port.number()));
            if (isPortless(nic)) {
                ports.add(nic.name());
            }
        }
        return "; "
                + (ports.isEmpty()
                        ? "no NIC of its machine can be used"
                        : "ports that are up: " + String.join(", ", ports))
                + all.obstaclesSuffix();
    }
}
