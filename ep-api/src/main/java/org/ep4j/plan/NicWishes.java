package org.ep4j.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.NicMap;
import org.ep4j.config.NicPattern;
import org.ep4j.config.PortName;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PortObstacle;

/**
 * A {@link NicChoice} as one rank sees it.
 *
 * @param include ports that alone may be used; empty for all
 * @param exclude ports never to use
 * @param wanted what the map has for the rank, in this order; empty where it has nothing
 */
record NicWishes(NicPattern include, NicPattern exclude, List<PortName> wanted) {
    NicWishes {
        wanted = List.copyOf(wanted);
    }

    /** Of a rank with a GPU of this index on its host; -1 for none. */
    static NicWishes of(NicChoice choice, int gpu) {
        NicMap map = NicMap.parse(choice.map());
        return new NicWishes(
                NicPattern.parse(choice.include()),
                NicPattern.parse(choice.exclude()),
                map.of(gpu).isEmpty() ? map.rest() : map.of(gpu));
    }

    /** True when they name NICs to use, and not only some to leave. */
    boolean choose() {
        return !wanted.isEmpty() || (!include.isEmpty() && !include.negated());
    }

    boolean allow(PortName port) {
        return (wanted.isEmpty() || place(port) < wanted.size())
                && (include.isEmpty() || include.matches(port))
                && (exclude.isEmpty() || !exclude.matches(port));
    }

    /** Place of a port in what the map wants; past its end when it is not wanted. */
    int place(PortName port) {
        for (int i = 0; i < wanted.size(); i++) {
            if (means(wanted.get(i), port)) {
                return i;
            }
        }
        return wanted.size();
    }

    static boolean means(PortName wish, PortName port) {
        return wish.nic().equals(port.nic()) && (wish.port() == 0 || wish.port() == port.port());
    }

    /** The machine with the NICs that may be used. */
    Locality narrow(Locality all) {
        List<NicReach> nics = new ArrayList<>();
        for (NicReach nic : all.nics()) {
            List<NicReach.Port> ports = nic.ports().stream()
                    .filter(port -> allow(new PortName(nic.name(), port.number())))
                    .toList();
            Map<Integer, PortObstacle> leftOut = new TreeMap<>(nic.leftOut());
            leftOut.keySet().removeIf(port -> !allow(new PortName(nic.name(), port)));
            boolean portless = nic.ports().isEmpty() && nic.leftOut().isEmpty();
            if (portless ? allow(new PortName(nic.name(), 1)) : !ports.isEmpty() || !leftOut.isEmpty()) {
                nics.add(nic.withPorts(ports, leftOut));
            }
        }
        return all.withNics(nics);
    }
}
