package org.ep4j.backend.rocm;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.gpu.driver.MappedGpuProbe;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;

/**
 * The GPUs that HIP shows, found again in the machine. Partitions of one GPU are functions of its PCI address to the kernel; HIP
 * gives them the same functions, or all of them function 0, and then in the kernel's order.
 */
final class HipPairs implements MappedGpuProbe.Places {
    private static final int NAMED = 4;

    private final List<VisibleGpu> shown;
    private final Map<Integer, String> names = new TreeMap<>();
    private final Map<String, Integer> indexes = new TreeMap<>();

    HipPairs(List<VisibleGpu> shown, Topology topology) {
        this.shown = shown;
        Map<PciAddress, List<Gpu>> known = topology.gpus().stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.AMD && gpu.address().isPresent())
                .sorted(Comparator.comparingInt(Gpu::index))
                .collect(
                        Collectors.groupingBy(gpu -> gpu.address().orElseThrow().card()));
        Map<PciAddress, List<VisibleGpu>> cards = shown.stream()
                .filter(gpu -> gpu.address().isPresent())
                .collect(
                        Collectors.groupingBy(gpu -> gpu.address().orElseThrow().card()));
        cards.forEach((card, gpus) -> find(gpus, known.getOrDefault(card, List.of())));
    }

    private void find(List<VisibleGpu> gpus, List<Gpu> known) {
        long addresses = gpus.stream().map(VisibleGpu::address).distinct().count();
        boolean functions = gpus.stream().anyMatch(gpu -> address(gpu).function() > 0);
        if (addresses == gpus.size() && (functions || known.size() <= 1)) {
            for (VisibleGpu gpu : gpus) {
                int index = known.stream()
                        .filter(one -> one.address().equals(gpu.address()))
                        .map(Gpu::index)
                        .findFirst()
                        .orElse(-1);
                place(gpu, address(gpu), index);
            }
        } else if (gpus.size() == known.size()) {
            for (int i = 0; i < gpus.size(); i++) {
                Gpu gpu = known.get(i);
                place(gpus.get(i), gpu.address().orElseThrow(), gpu.index());
            }
        }
    }

    private static PciAddress address(VisibleGpu gpu) {
        return gpu.address().orElseThrow();
    }

    private void place(VisibleGpu gpu, PciAddress address, int index) {
        names.put(gpu.ordinal(), address.toString());
        indexes.put(address.toString(), index);
    }

    /** PCI addresses, with partitions as functions. */
    @Override
    public Map<Integer, String> names() {
        return names;
    }

    @Override
    public Map<String, Integer> indexes() {
        return indexes;
    }

    /** Pairs that are alike together: 64 partitions make 2016 of them. */
    @Override
    public String pairs() {
        Map<String, List<String>> alike = new LinkedHashMap<>();
        for (VisibleGpu a : shown) {
            for (VisibleGpu b : shown) {
                if (a.ordinal() < b.ordinal()) {
                    alike.computeIfAbsent(joined(a, b) + ", " + a.access(b), text -> new ArrayList<>())
                            .add("hip:" + a.ordinal() + " - hip:" + b.ordinal());
                }
            }
        }
        List<String> texts = new ArrayList<>();
        alike.forEach((way, pairs) -> texts.add(way + ": "
                + pairs.stream().limit(NAMED).collect(Collectors.joining(", "))
                + (pairs.size() > NAMED ? " and " + (pairs.size() - NAMED) + " more pairs" : "")));
        return String.join("; ", texts);
    }

    private static String joined(VisibleGpu a, VisibleGpu b) {
        return Optional.ofNullable(a.peers().get(b.ordinal()))
                .filter(VisibleGpu.Peer::linked)
                .map(way -> "xGMI, " + way.hops() + (way.hops() == 1 ? " hop" : " hops"))
                .orElse("PCIe");
    }
}
