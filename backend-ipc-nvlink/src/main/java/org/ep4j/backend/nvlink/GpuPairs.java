package org.ep4j.backend.nvlink;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.gpu.driver.MappedGpuProbe;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;

/** The GPUs that CUDA shows, found again in the machine by their PCI addresses. */
final class GpuPairs implements MappedGpuProbe.Places {
    private final List<VisibleGpu> shown;
    private final Topology topology;
    private final Map<PciAddress, Gpu> known = new TreeMap<>();

    GpuPairs(List<VisibleGpu> shown, Topology topology) {
        this.shown = shown;
        this.topology = topology;
        topology.gpus().stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.NVIDIA)
                .forEach(gpu -> gpu.address().ifPresent(address -> known.put(address, gpu)));
    }

    @Override
    public Map<Integer, String> names() {
        Map<Integer, String> names = new TreeMap<>();
        shown.forEach(gpu -> gpu.address().ifPresent(address -> names.put(gpu.ordinal(), address.toString())));
        return names;
    }

    @Override
    public Map<String, Integer> indexes() {
        Map<String, Integer> indexes = new TreeMap<>();
        names().values().forEach(name -> indexes.put(name, -1));
        known.forEach((address, gpu) -> indexes.put(address.toString(), gpu.index()));
        return indexes;
    }

    /** Returns GPUs of the machine that CUDA does not show. */
    List<String> hidden() {
        Map<Integer, String> names = names();
        return known.keySet().stream()
                .map(PciAddress::toString)
                .filter(name -> !names.containsValue(name))
                .toList();
    }

    /** Returns the NVLink domain of a GPU beyond the host; empty when there is none. */
    String clique(VisibleGpu gpu) {
        return gpu.address().map(known::get).map(Gpu::clique).orElse("");
    }

    /** Returns one text for every pair. */
    @Override
    public String pairs() {
        List<String> texts = new ArrayList<>();
        for (VisibleGpu a : shown) {
            for (VisibleGpu b : shown) {
                if (a.ordinal() < b.ordinal()) {
                    texts.add(
                            "cuda:" + a.ordinal() + " - cuda:" + b.ordinal() + " " + joined(a, b) + ", " + a.access(b));
                }
            }
        }
        return String.join("; ", texts);
    }

    private String joined(VisibleGpu a, VisibleGpu b) {
        Optional<Gpu> one = a.address().map(known::get);
        Optional<Gpu> other = b.address().map(known::get);
        if (one.isEmpty() || other.isEmpty()) {
            return "unknown link";
        }
        int direct = nvlinks(one.get(), other.get());
        if (direct > 0) {
            return "NVLink x" + direct;
        }
        int switched = throughSwitch(one.get(), other.get());
        if (switched > 0) {
            return "NVLink x" + switched + " through switches";
        }
        return topology.distance(one.get(), other.get())
                .map(Distance::type)
                .map(type -> "PCIe " + type)
                .orElse("not joined");
    }

    private int throughSwitch(Gpu a, Gpu b) {
        int most = 0;
        for (Part part : topology.neighbours(a)) {
            if (part instanceof GpuSwitch) {
                most = Math.max(most, Math.min(nvlinks(a, part), nvlinks(b, part)));
            }
        }
        return most;
    }

    private int nvlinks(Part a, Part b) {
        return topology.links(a, b).stream()
                .filter(link -> link.type() == LinkType.NVLINK)
                .mapToInt(Link::count)
                .sum();
    }
}
