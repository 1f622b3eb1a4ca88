package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.model.GidChoice;
import org.ep4j.topology.model.GidChoice.Verdict;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;

/** Checks of the GIDs that connections send from. */
final class GidChecks implements Examination {
    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(index(input), ipv6(input));
    }

    /** Ports of this network namespace that are not down, by name. */
    private static Map<String, NicPort> active(DoctorInput input) {
        Map<String, NicPort> all = new LinkedHashMap<>();
        input.rdmaNics()
                .forEach(nic -> nic.ports().stream()
                        .filter(port -> port.state() != NicPort.State.DOWN && !isForeign(input, nic, port))
                        .forEach(port -> all.put(nic.name() + ":" + port.number(), port)));
        return all;
    }

    private static boolean isForeign(DoctorInput input, Nic nic, NicPort port) {
        return input.topology()
                .obstacle(nic, port, input.gidIndex())
                .filter(PortObstacle.OTHER_NAMESPACE::equals)
                .isPresent();
    }

    /** Names of the ports that belong to other network namespaces. */
    private static String foreign(DoctorInput input) {
        return input.topology().nics().stream()
                .filter(nic -> nic.compute() && nic.family().rdma())
                .flatMap(nic -> nic.ports().stream()
                        .filter(port -> isForeign(input, nic, port))
                        .map(port -> nic.name() + ":" + port.number()))
                .collect(Collectors.joining(", "));
    }

    private static Check index(DoctorInput input) {
        Map<String, NicPort> ports = active(input);
        String foreign = foreign(input);
        String others = foreign.isEmpty() ? "" : "; ports in other network namespaces, not used here: " + foreign;
        if (ports.isEmpty()) {
            return DoctorCode.GID_INDEX.notApplicable("no active port of a NIC with RDMA" + others);
        }
        if (ports.values().stream()
                .noneMatch(port -> port.gidsRead() || !port.gids().isEmpty())) {
            return DoctorCode.GID_INDEX.notRun(
                    "the topology source does not give GIDs",
                    "run doctor on the machine, or merge the output of ibv_devinfo -v");
        }
        int wanted = input.gidIndex();
        List<String> unusable = new ArrayList<>();
        List<String> weak = new ArrayList<>();
        List<String> unread = new ArrayList<>();
        List<String> fine = new ArrayList<>();
        ports.forEach((name, port) -> {
            if (port.gids().isEmpty() && port.gidsRead()) {
                unusable.add(name + " has no GID, all entries of its table are empty");
                return;
            }
            GidChoice choice = GidChoice.of(port, wanted);
            String text = name + " " + choice + better(port, choice);
            List<String> kind = switch (choice.verdict()) {
                case FINE, IPV6 -> fine;
                case ROCE_V1, FOREIGN -> weak;
                case LINK_LOCAL, EMPTY -> unusable;
                // Entry 0 of InfiniBand is always there.
                case UNKNOWN -> port.linkLayer() == NicReach.LinkLayer.INFINIBAND && wanted < 0 ? fine : unread;
            };
            kind.add(text);
        });
        if (!unread.isEmpty()) {
            weak.add(
                    String.join("; ", unread)
                            + " (the GID table cannot be read: run doctor on the machine, or merge the output of ibv_devinfo -v)");
        }
        if (!unusable.isEmpty()) {
            return DoctorCode.GID_INDEX.fail(String.join("; ", unusable) + others);
        }
        return weak.isEmpty()
                ? DoctorCode.GID_INDEX.pass(String.join("; ", fine) + others)
                : DoctorCode.GID_INDEX.warn(String.join("; ", weak) + others);
    }

    /** Names the entry that the rules would choose, if it is another one that works. */
    private static String better(NicPort port, GidChoice choice) {
        GidChoice byRule = GidChoice.of(port);
        boolean other = byRule.index() != choice.index() && byRule.verdict().usable();
        return other && choice.verdict() != Verdict.FINE ? "; use " + byRule : "";
    }

    private static Check ipv6(DoctorInput input) {
        Map<String, NicPort> roce = active(input);
        roce.values()
                .removeIf(port -> port.linkLayer() != NicReach.LinkLayer.ETHERNET
                        || port.gids().isEmpty());
        if (roce.isEmpty()) {
            return DoctorCode.IPV6_ONLY.notApplicable("no active RoCE port whose GIDs are known");
        }
        String without = roce.entrySet().stream()
                .filter(entry -> GidChoice.of(entry.getValue()).verdict() == Verdict.IPV6)
                .map(entry -> entry.getKey() + " " + GidChoice.of(entry.getValue()))
                .collect(Collectors.joining("; "));
        return without.isEmpty()
                ? DoctorCode.IPV6_ONLY.pass("no RoCE port depends on IPv6")
                : DoctorCode.IPV6_ONLY.warn(without);
    }
}
