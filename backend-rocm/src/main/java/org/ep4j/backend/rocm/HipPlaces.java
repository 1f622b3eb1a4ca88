package org.ep4j.backend.rocm;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.engine.hip.HipGpu;
import org.ep4j.engine.hip.HipGpus;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.Topology;

/**
 * The GPUs that HIP shows, found again in the machine. Partitions of one GPU are functions of its PCI address to the kernel; HIP
 * gives them the same functions, or all of them function 0, and then in the kernel's order.
 */
final class HipPlaces {
    /**
     * Where a GPU is.
     *
     * @param name its PCI address, with the partition as function: the same in all processes and containers of the host
     * @param index its number in the topology; -1 when that does not know it
     */
    record Place(String name, int index) {}

    private final Map<Integer, Place> places = new TreeMap<>();

    HipPlaces(HipGpus shown, Topology topology) {
        Map<PciAddress, List<Gpu>> known = topology.gpus().stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.AMD && gpu.address().isPresent())
                .sorted(Comparator.comparingInt(Gpu::index))
                .collect(
                        Collectors.groupingBy(gpu -> gpu.address().orElseThrow().card()));
        Map<PciAddress, List<HipGpu>> cards = shown.all().stream()
                .filter(gpu -> gpu.address().isPresent())
                .collect(
                        Collectors.groupingBy(gpu -> gpu.address().orElseThrow().card()));
        cards.forEach((card, gpus) -> find(gpus, known.getOrDefault(card, List.of())));
    }

    private void find(List<HipGpu> shown, List<Gpu> known) {
        long addresses = shown.stream().map(HipGpu::address).distinct().count();
        boolean functions = shown.stream().anyMatch(gpu -> address(gpu).function() > 0);
        if (addresses == shown.size() && (functions || known.size() <= 1)) {
            for (HipGpu gpu : shown) {
                int index = known.stream()
                        .filter(one -> one.address().equals(gpu.address()))
                        .map(Gpu::index)
                        .findFirst()
                        .orElse(-1);
                places.put(gpu.ordinal(), new Place(address(gpu).toString(), index));
            }
        } else if (shown.size() == known.size()) {
            for (int i = 0; i < shown.size(); i++) {
                Gpu gpu = known.get(i);
                String name = gpu.address().orElseThrow().toString();
                places.put(shown.get(i).ordinal(), new Place(name, gpu.index()));
            }
        }
    }

    private static PciAddress address(HipGpu gpu) {
        return gpu.address().orElseThrow();
    }

    /** Place of a GPU by its number in HIP; empty when it cannot be told from other partitions. */
    Optional<Place> of(int ordinal) {
        return Optional.ofNullable(places.get(ordinal));
    }

    /** Index in the machine of every GPU whose place is known, by the name of the place. */
    Map<String, Integer> indexes() {
        Map<String, Integer> indexes = new TreeMap<>();
        places.values().forEach(place -> indexes.put(place.name(), place.index()));
        return indexes;
    }
}
