package org.ep4j.plan;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.config.PortName;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;

/**
 * A NIC port as one rank sees it. Bandwidths in GB/s are 0 where unknown.
 *
 * @param card equal for ports of one physical card
 * @param type distance; empty when the topology does not have it
 * @param direct true when it reaches the memory of the device without a detour
 * @param way bandwidth of the way to the port
 * @param network what it reaches without a router; empty when unknown
 */
record PortView(
        PortName name,
        String card,
        Fabric fabric,
        Optional<PathType> type,
        boolean direct,
        double rate,
        double way,
        String network) {
    /** Ports of different fabrics are never striped over. */
    record Fabric(NicFamily family, LinkLayer layer) {
        static final Fabric UNKNOWN = new Fabric(NicFamily.OTHER_RDMA, LinkLayer.UNSPECIFIED);
    }

    /** Ports as a rank sees them, in the order of their names. */
    static List<PortView> of(List<String> names, Locality locality) {
        Map<String, NicReach> nics = new HashMap<>();
        locality.nics().forEach(nic -> nics.putIfAbsent(nic.name(), nic));
        return names.stream()
                .map(PortName::parse)
                .map(name -> Optional.ofNullable(nics.get(name.nic()))
                        .map(nic -> of(name, nic))
                        .orElseGet(() -> unknown(name)))
                .toList();
    }

    static PortView unknown(PortName name) {
        return new PortView(name, name.nic(), Fabric.UNKNOWN, Optional.empty(), false, 0, 0, "");
    }

    private static PortView of(PortName name, NicReach nic) {
        Optional<NicReach.Port> port = nic.ports().stream()
                .filter(p -> p.number() == Math.max(1, name.port()))
                .findFirst();
        Distance distance = nic.distance();
        return new PortView(
                name,
                nic.card(),
                new Fabric(nic.family(), port.map(NicReach.Port::linkLayer).orElse(LinkLayer.UNSPECIFIED)),
                Optional.of(distance.type()),
                distance.type().gpuDirect() && nic.gpuDirect().orElse(true),
                port.map(p -> p.gigabitsPerSecond() / 8).orElse(0.0),
                distance.gigabytesPerSecond(),
                port.map(NicReach.Port::network).orElse(""));
    }

    /** Order of nearness; what the topology does not know comes last. */
    int nearness() {
        return type.map(PathType::ordinal).orElse(PathType.values().length);
    }

    /** Estimated GB/s of the port alone: of port and way the narrower one; 0 when neither is known. */
    double estimate() {
        if (rate == 0 || way == 0) {
            return Math.max(rate, way);
        }
        return Math.min(rate, way);
    }

    String how() {
        return type.map(PathType::name).orElse("distance unknown");
    }
}
