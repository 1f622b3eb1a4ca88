package org.ep4j.doctor;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.topology.Distance;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Part;

/**
 * The NICs that carry the exchanges, so that what manages the machine or serves its storage is left out of their checks.
 *
 * <p>These are the NICs that are assigned to GPUs, with NICs of the same model that are as near as the nearest of some GPU: a
 * plan leaves those out only because something is wrong with them. Where nothing is assigned they are the NICs that are as
 * near as the nearest of some GPU, and without GPUs all of them. How wide the way to a NIC is does not count: one whose port is
 * slower than others, or whose PCIe link has lost lanes, is what the checks are to find.
 */
final class TrafficNics {
    private TrafficNics() {}

    static List<Nic> of(DoctorInput input) {
        Set<String> names = PlacementChecks.assigned(input).values().stream()
                .flatMap(Set::stream)
                .collect(Collectors.toSet());
        List<Nic> all = input.rdmaNics();
        List<Nic> assigned =
                all.stream().filter(nic -> names.contains(nic.name())).toList();
        Set<Nic> near = near(input);
        if (assigned.isEmpty()) {
            return near.isEmpty() ? all : all.stream().filter(near::contains).toList();
        }
        return all.stream()
                .filter(nic -> assigned.contains(nic)
                        || (near.contains(nic) && assigned.stream().anyMatch(other -> sameModel(nic, other))))
                .toList();
    }

    private static boolean sameModel(Nic a, Nic b) {
        return a.family() == b.family() && a.id().vendor() == b.id().vendor() && a.id().device() == b.id().device();
    }

    private static Set<Nic> near(DoctorInput input) {
        Set<Nic> near = new HashSet<>();
        for (Gpu gpu : input.topology().gpus()) {
            Map<Part, Distance> reach = input.topology().distances(gpu);
            List<Nic> reached = input.rdmaNics().stream()
                    .filter(nic -> nic.host() == gpu.host() && reach.containsKey(nic))
                    .toList();
            Optional<PathType> nearest =
                    reached.stream().map(nic -> type(reach, nic)).min(PathType::compareTo);
            reached.stream()
                    .filter(nic -> nearest.filter(type(reach, nic)::equals).isPresent())
                    .forEach(near::add);
        }
        return near;
    }

    private static PathType type(Map<Part, Distance> reach, Nic nic) {
        return Optional.ofNullable(reach.get(nic)).map(Distance::type).orElse(PathType.SYS);
    }
}
