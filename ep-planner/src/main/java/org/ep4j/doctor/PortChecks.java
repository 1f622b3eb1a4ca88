package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.config.NicListException;
import org.ep4j.config.NicMap;
import org.ep4j.config.NicPattern;
import org.ep4j.config.PortName;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Topology;

/** Checks of the states, rates, MTUs, names and families of NICs. */
final class PortChecks implements Examination {
    private static final String MAPPING = "NVSHMEM_HCA_PE_MAPPING";

    @Override
    public List<Check> examine(DoctorInput input) {
        if (input.rdmaNics().isEmpty()) {
            String reason = "no NIC with RDMA";
            return List.of(
                    DoctorCode.PORT_DOWN.notApplicable(reason),
                    DoctorCode.PORT_RATES.notApplicable(reason),
                    names(input),
                    DoctorCode.NIC_FAMILY.notApplicable(reason),
                    DoctorCode.PORT_MTUS.notApplicable(reason));
        }
        return List.of(states(input), rates(input), names(input), families(input), mtus(input));
    }

    private static Map<String, NicPort> ports(DoctorInput input) {
        Map<String, NicPort> all = new LinkedHashMap<>();
        input.trafficNics()
                .forEach(nic -> nic.ports().forEach(port -> all.put(nic.name() + ":" + port.number(), port)));
        return all;
    }

    private static List<String> in(Map<String, NicPort> ports, NicPort.State state) {
        return ports.entrySet().stream()
                .filter(entry -> entry.getValue().state() == state)
                .map(Map.Entry::getKey)
                .toList();
    }

    private static Check states(DoctorInput input) {
        Map<String, NicPort> ports = ports(input);
        List<String> down = in(ports, NicPort.State.DOWN);
        List<String> active = in(ports, NicPort.State.ACTIVE);
        if (active.isEmpty() && down.isEmpty()) {
            return DoctorCode.PORT_DOWN.notRun(
                    "the topology source does not give the states of ports",
                    "run doctor on the machine, or merge the output of ibv_devinfo -v");
        }
        if (down.isEmpty()) {
            return DoctorCode.PORT_DOWN.pass(active.size() + " ports are active");
        }
        String detail = "down: " + String.join(", ", down);
        return active.isEmpty() ? DoctorCode.PORT_DOWN.fail(detail) : DoctorCode.PORT_DOWN.warn(detail);
    }

    private static Check rates(DoctorInput input) {
        Map<Double, List<String>> byRate = new TreeMap<>();
        Map<String, NicPort> ports = ports(input);
        if (in(ports, NicPort.State.DOWN).size() == ports.size()) {
            return DoctorCode.PORT_RATES.notApplicable("no active port of a NIC with RDMA");
        }
        ports.forEach((name, port) -> {
            if (port.state() != NicPort.State.DOWN && port.gigabitsPerSecond() > 0) {
                byRate.computeIfAbsent(port.gigabitsPerSecond(), r -> new ArrayList<>())
                        .add(name);
            }
        });
        if (byRate.isEmpty()) {
            return DoctorCode.PORT_RATES.notRun(
                    "the topology source does not give the rates of ports",
                    "run doctor on the machine, or merge the output of ibv_devinfo -v");
        }
        if (byRate.size() == 1) {
            return DoctorCode.PORT_RATES.pass(
                    "all have " + rate(byRate.keySet().iterator().next()));
        }
        return DoctorCode.PORT_RATES.warn(byRate.entrySet().stream()
                .map(entry -> rate(entry.getKey()) + ": " + String.join(", ", entry.getValue()))
                .collect(Collectors.joining("; ")));
    }

    private static String rate(double gigabits) {
        return String.format(Locale.ROOT, "%.0f Gb/s", gigabits);
    }

    private static Check mtus(DoctorInput input) {
        Map<Integer, List<String>> byMtu = new TreeMap<>();
        ports(input).forEach((name, port) -> {
            boolean known = port.linkLayer() == NicReach.LinkLayer.ETHERNET && port.activeMtu() > 0;
            if (known && port.state() != NicPort.State.DOWN) {
                byMtu.computeIfAbsent(port.activeMtu(), m -> new ArrayList<>()).add(name);
            }
        });
        if (byMtu.isEmpty()) {
            return DoctorCode.PORT_MTUS.notApplicable("no active RoCE port whose MTU is known");
        }
        String detail = byMtu.entrySet().stream()
                .map(entry -> entry.getKey() + " bytes: " + String.join(", ", entry.getValue()))
                .collect(Collectors.joining("; "));
        return byMtu.size() == 1 ? DoctorCode.PORT_MTUS.pass(detail) : DoctorCode.PORT_MTUS.warn(detail);
    }

    private static Check names(DoctorInput input) {
        Map<String, String> lists = new LinkedHashMap<>();
        for (ConfigKey<String> key : List.of(EpKeys.NIC_INCLUDE, EpKeys.NIC_EXCLUDE, EpKeys.NIC_MAP)) {
            EpConfig.Setting value = key.setting(input.config());
            lists.put(key.name(), key.variables().contains(value.source()) ? "" : value.text());
            key.variables().forEach(name -> lists.put(name, input.variable(name)));
        }
        lists.put(MAPPING, input.variable(MAPPING));
        lists.values().removeIf(String::isEmpty);
        if (lists.isEmpty()) {
            return DoctorCode.NIC_NAMES.notApplicable("no list of NICs is set");
        }
        List<PortName> ports = ports(input.topology());
        List<String> unknown = new ArrayList<>();
        lists.forEach(
                (name, list) -> unknown(name, list, ports).forEach(entry -> unknown.add(name + " names " + entry)));
        return unknown.isEmpty()
                ? DoctorCode.NIC_NAMES.pass("every entry of " + String.join(", ", lists.keySet()) + " names a NIC")
                : DoctorCode.NIC_NAMES.warn(String.join("; ", unknown) + "; NICs here: "
                        + input.topology().nics().stream().map(Nic::name).collect(Collectors.joining(", ")));
    }

    private static List<PortName> ports(Topology topology) {
        List<PortName> ports = new ArrayList<>();
        for (Nic nic : topology.nics()) {
            nic.ports().forEach(port -> ports.add(new PortName(nic.name(), port.number())));
            if (nic.ports().isEmpty()) {
                ports.add(new PortName(nic.name(), 1));
            }
        }
        return ports;
    }

    /** Entries of a list or map that match no NIC. */
    private static List<String> unknown(String name, String list, List<PortName> ports) {
        try {
            if (name.equals(EpKeys.NIC_MAP.name())) {
                return NicMap.parse(list).entries().values().stream()
                        .flatMap(List::stream)
                        .filter(wish -> ports.stream()
                                .noneMatch(port -> port.nic().equals(wish.nic())
                                        && (wish.port() == 0 || wish.port() == port.port())))
                        .map(PortName::toString)
                        .toList();
            }
            // NVSHMEM's mapping has a number of processes behind each port.
            String plain = name.equals(MAPPING) ? list.replaceAll("(:\\d+):\\d+\\s*(?=,|$)", "$1") : list;
            return NicPattern.parse(plain).unknown(ports).stream()
                    .map(PortName::toString)
                    .toList();
        } catch (NicListException e) {
            return List.of("entries that cannot be read");
        }
    }

    private static Check families(DoctorInput input) {
        Map<String, List<String>> careful = new LinkedHashMap<>();
        for (Nic nic : input.rdmaNics()) {
            String note = switch (nic.family()) {
                case RXE -> "RDMA in software, for tests";
                case SIW -> "iWARP in software: no atomics, connections by rdma_cm only, so verbs paths cannot be used";
                case CXI -> "no write with immediate data and no verbs: libfabric only";
                case OTHER_RDMA -> "of an unknown family: only verbs without vendor extensions can be used";
                case MLX5, EFA, BNXT, IONIC, IRDMA, ETHERNET -> "";
            };
            if (!note.isEmpty()) {
                careful.computeIfAbsent(note, n -> new ArrayList<>()).add(nic.name());
            }
        }
        return careful.isEmpty()
                ? DoctorCode.NIC_FAMILY.pass(input.rdmaNics().stream()
                        .collect(Collectors.groupingBy(Nic::family, TreeMap::new, Collectors.counting()))
                        .entrySet()
                        .stream()
                        .map(entry -> entry.getValue() + " " + entry.getKey())
                        .collect(Collectors.joining(", ")))
                : DoctorCode.NIC_FAMILY.warn(careful.entrySet().stream()
                        .map(entry -> String.join(", ", entry.getValue()) + ": " + entry.getKey())
                        .collect(Collectors.joining("; ")));
    }
}
