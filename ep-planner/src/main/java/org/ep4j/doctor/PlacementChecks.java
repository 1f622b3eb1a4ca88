package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.topology.Distance;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Part;

/** Checks of the NICs that GPUs use, and their distances. */
final class PlacementChecks implements Examination {
    private static final List<DoctorCode> CODES = List.of(
            DoctorCode.ONE_NIC_FOR_ALL,
            DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES,
            DoctorCode.NIC_FAR,
            DoctorCode.NIC_NETWORKS);

    @Override
    public List<Check> examine(DoctorInput input) {
        Optional<String> absent = absent(input);
        return absent.isPresent()
                ? CODES.stream().map(code -> code.notApplicable(absent.get())).toList()
                : List.of(oneForAll(input), sharedWhileIdle(input), far(input), networks(input));
    }

    private static Optional<String> absent(DoctorInput input) {
        if (input.topology().gpus().isEmpty()) {
            return Optional.of("no GPU");
        }
        if (input.rdmaNics().isEmpty()) {
            return Optional.of("no NIC with RDMA");
        }
        return usable(input).isEmpty() ? Optional.of("no NIC with RDMA from which data can be sent") : Optional.empty();
    }

    private static Check oneForAll(DoctorInput input) {
        String list = input.variable("NVSHMEM_HCA_PE_MAPPING") + input.variable("NVSHMEM_HCA_LIST");
        if (input.variable("NVSHMEM_ENABLE_NIC_PE_MAPPING").equals("1") && list.contains(",")) {
            return DoctorCode.ONE_NIC_FOR_ALL.warn(
                    "NVSHMEM_ENABLE_NIC_PE_MAPPING=1 with a list of several NICs: processes that start NVSHMEM by unique id"
                            + " all use the first NIC of the list",
                    "unset NVSHMEM_ENABLE_NIC_PE_MAPPING, or give every process a list with its own NIC alone");
        }
        Map<Integer, Set<String>> nics = assigned(input);
        if (nics.isEmpty()) {
            return DoctorCode.ONE_NIC_FOR_ALL.notRun(
                    "no NIC is assigned to a GPU", "run doctor on a machine with GPUs for which ./ep plan succeeds");
        }
        Set<String> used = new TreeSet<>();
        nics.values().forEach(used::addAll);
        List<String> usable = usable(input);
        if (nics.size() > 1 && used.size() == 1 && usable.size() > 1) {
            return DoctorCode.ONE_NIC_FOR_ALL.warn(
                    "all " + nics.size() + " GPUs use " + used.iterator().next() + ", " + (usable.size() - 1)
                            + " other NICs are idle",
                    remedy(input, DoctorCode.ONE_NIC_FOR_ALL));
        }
        return DoctorCode.ONE_NIC_FOR_ALL.pass(nics.size() + " GPUs use " + used.size() + " of " + usable.size()
                + " NICs: "
                + nics.entrySet().stream()
                        .map(e -> "GPU " + e.getKey() + " " + String.join("+", e.getValue()))
                        .collect(Collectors.joining(", ")));
    }

    /** Names of NICs with RDMA by index of the GPU, without ports; a plan may name others where sockets are all there is. */
    static Map<Integer, Set<String>> assigned(DoctorInput input) {
        Map<Integer, Set<String>> all = new TreeMap<>();
        List<String> rdma = input.rdmaNics().stream().map(Nic::name).toList();
        input.nics().forEach((gpu, ports) -> {
            Set<String> names = ports.stream()
                    .map(port -> rdma.contains(port) ? port : port.replaceFirst(":[0-9]+$", ""))
                    .filter(rdma::contains)
                    .collect(Collectors.toCollection(TreeSet::new));
            if (!names.isEmpty()) {
                all.put(gpu, names);
            }
        });
        return all;
    }

    /** NICs that can be sent from; functions of one port are one. */
    private static List<String> usable(DoctorInput input) {
        int gidIndex = input.gidIndex();
        List<Nic> found = new ArrayList<>();
        for (Nic nic : input.rdmaNics()) {
            boolean up = nic.ports().isEmpty()
                    || nic.ports().stream()
                            .anyMatch(port -> input.topology()
                                    .obstacle(nic, port, gidIndex)
                                    .isEmpty());
            if (up && found.stream().noneMatch(nic::sharesPorts)) {
                found.add(nic);
            }
        }
        return found.stream().map(Nic::name).toList();
    }

    private static Check sharedWhileIdle(DoctorInput input) {
        Map<Integer, Set<String>> nics = assigned(input);
        if (nics.isEmpty()) {
            return DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES.notRun(
                    "no NIC is assigned to a GPU", "run doctor on a machine with GPUs for which ./ep plan succeeds");
        }
        Map<String, List<Integer>> users = new TreeMap<>();
        nics.forEach((gpu, names) -> names.forEach(
                name -> users.computeIfAbsent(name, n -> new ArrayList<>()).add(gpu)));
        List<String> findings = new ArrayList<>();
        users.forEach((name, gpus) -> {
            if (gpus.size() > 1) {
                idleAsNear(input, users.keySet(), name, gpus)
                        .ifPresent(idle -> findings.add("GPUs "
                                + gpus.stream().map(String::valueOf).collect(Collectors.joining(", ")) + " share "
                                + name + " while " + idle + ", which is equally near, is idle"));
            }
        });
        return findings.isEmpty()
                ? DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES.pass("no idle NIC is as near as a shared one")
                : DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES.warn(
                        String.join("; ", findings), remedy(input, DoctorCode.NIC_SHARED_WHILE_ANOTHER_IDLES));
    }

    /** Where a setting chose the NICs, the remedy names it. */
    private static String remedy(DoctorInput input, DoctorCode code) {
        String set = Stream.of(EpKeys.NIC_MAP, EpKeys.NIC_INCLUDE, EpKeys.NIC_EXCLUDE)
                .map(key -> key.setting(input.config()))
                .filter(one ->
                        one.origin() != EpConfig.Origin.DEFAULT && !one.text().isBlank())
                .map(one -> one.source().isEmpty() || one.source().equals(one.name())
                        ? one.name() + "=" + one.text()
                        : one.source() + "=" + one.text() + " (read as " + one.name() + ")")
                .collect(Collectors.joining(" and "));
        return set.isEmpty() ? code.remedy() : "the likely cause is " + set + ": unset it, or name more NICs there";
    }

    private static Optional<String> idleAsNear(DoctorInput input, Set<String> used, String shared, List<Integer> gpus) {
        for (Gpu gpu : input.topology().gpus()) {
            if (!gpus.contains(gpu.index())) {
                continue;
            }
            Map<String, Distance> reach = reach(input, gpu);
            Distance taken = reach.get(shared);
            for (String name : usable(input)) {
                Distance other = reach.get(name);
                if (taken != null
                        && other != null
                        && !used.contains(name)
                        && other.type().compareTo(taken.type()) <= 0) {
                    return Optional.of(name);
                }
            }
        }
        return Optional.empty();
    }

    private static Map<String, Distance> reach(DoctorInput input, Gpu gpu) {
        Map<Part, Distance> all = input.topology().distances(gpu);
        Map<String, Distance> found = new LinkedHashMap<>();
        for (Nic nic : input.rdmaNics()) {
            Distance distance = all.get(nic);
            if (distance != null && nic.host() == gpu.host()) {
                found.put(nic.name(), distance);
            }
        }
        return found;
    }

    private static Check far(DoctorInput input) {
        Map<Integer, Set<String>> nics = assigned(input);
        Map<String, List<String>> findings = new LinkedHashMap<>();
        for (Gpu gpu : input.topology().gpus()) {
            Map<String, Distance> reach = reach(input, gpu);
            Set<String> used = nics.getOrDefault(gpu.index(), nearest(reach));
            for (String name : used) {
                Distance distance = reach.get(name);
                if (distance == null || !distance.type().gpuDirect()) {
                    String type =
                            distance == null ? "no known way" : distance.type().toString();
                    findings.computeIfAbsent(type, t -> new ArrayList<>()).add(gpu.name() + " to " + name);
                }
            }
        }
        return findings.isEmpty()
                ? DoctorCode.NIC_FAR.pass(
                        nics.isEmpty()
                                ? "every GPU whose host has an RDMA NIC has one within PXB or P2C"
                                : "the NIC of each rank is within PXB or P2C of its GPU")
                : DoctorCode.NIC_FAR.warn(findings.entrySet().stream()
                        .map(e -> e.getKey() + ": " + String.join(", ", e.getValue()))
                        .collect(Collectors.joining("; ")));
    }

    /** Networks of the ports of each GPU; those that are unknown, or that routers may join, are left out. */
    private static Check networks(DoctorInput input) {
        int gidIndex = input.gidIndex();
        Map<String, String> networks = new TreeMap<>();
        input.rdmaNics()
                .forEach(nic -> nic.ports()
                        .forEach(port -> networks.put(nic.name() + ":" + port.number(), port.network(gidIndex))));
        Map<Integer, Set<String>> ofGpus = new TreeMap<>();
        input.nics().forEach((gpu, ports) -> {
            Set<String> found = new TreeSet<>();
            ports.forEach(port -> found.add(networks.getOrDefault(port, "")));
            if (!found.isEmpty() && !found.contains("")) {
                ofGpus.put(gpu, found);
            }
        });
        if (input.nics().isEmpty() || ofGpus.isEmpty()) {
            return DoctorCode.NIC_NETWORKS.notRun(
                    "the networks of the GPUs' NICs are not known, or routers join these networks",
                    "run doctor on a machine that has GPUs and /proc/net/route, and for which ./ep plan succeeds");
        }
        boolean apart = ofGpus.values().stream()
                .anyMatch(one -> ofGpus.values().stream().anyMatch(other -> Collections.disjoint(one, other)));
        String detail = ofGpus.entrySet().stream()
                .map(entry -> "GPU " + entry.getKey() + " " + String.join("+", entry.getValue()))
                .collect(Collectors.joining(", "));
        return apart
                ? DoctorCode.NIC_NETWORKS.warn("no route joins the networks of the GPUs' NICs: " + detail)
                : DoctorCode.NIC_NETWORKS.pass(detail);
    }

    private static Set<String> nearest(Map<String, Distance> reach) {
        return reach.entrySet().stream()
                .min(Map.Entry.comparingByValue(Comparator.comparing(Distance::type)))
                .map(entry -> Set.of(entry.getKey()))
                .orElse(Set.of());
    }
}
