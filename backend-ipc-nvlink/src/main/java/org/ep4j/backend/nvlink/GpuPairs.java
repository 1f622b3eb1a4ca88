package org.ep4j.backend.nvlink;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.ep4j.engine.cuda.CudaGpu;
import org.ep4j.engine.cuda.CudaGpus;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Part;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.Topology;

/** The GPUs that CUDA shows, found again in the machine by their PCI addresses. */
final class GpuPairs {
    private final CudaGpus shown;
    private final Topology topology;
    private final Map<PciAddress, Gpu> known = new TreeMap<>();

    GpuPairs(CudaGpus shown, Topology topology) {
        this.shown = shown;
        this.topology = topology;
        topology.gpus().stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.NVIDIA)
                .forEach(gpu -> gpu.address().ifPresent(address -> known.put(address, gpu)));
    }

    /** Index in the machine of every GPU that the process may use, -1 where CUDA alone knows it; by PCI address. */
    Map<String, Integer> indexes() {
        Map<String, Integer> indexes = new TreeMap<>();
        shown.all().forEach(gpu -> gpu.address().ifPresent(address -> indexes.put(address.toString(), -1)));
        known.forEach((address, gpu) -> indexes.put(address.toString(), gpu.index()));
        return indexes;
    }

    /** GPUs of the machine that CUDA does not show. */
    List<String> hidden() {
        List<PciAddress> visible =
                shown.all().stream().flatMap(gpu -> gpu.address().stream()).toList();
        return known.keySet().stream()
                .filter(address -> !visible.contains(address))
                .map(PciAddress::toString)
                .toList();
    }

    /** Addresses of the other GPUs to which a GPU has such access, as a list for a fact. */
    String peers(CudaGpu gpu, Predicate<CudaGpu.Access> access) {
        return shown.all().stream()
                .filter(other -> Optional.ofNullable(gpu.peers().get(other.ordinal()))
                        .filter(access)
                        .isPresent())
                .flatMap(other -> other.address().stream())
                .map(PciAddress::toString)
                .sorted()
                .collect(Collectors.joining(","));
    }

    /** NVLink domain of a GPU beyond the host; empty when there is none. */
    String clique(CudaGpu gpu) {
        return gpu.address().map(known::get).map(Gpu::clique).orElse("");
    }

    /** One text for every pair of GPUs that CUDA shows. */
    List<String> describe() {
        List<String> texts = new ArrayList<>();
        for (CudaGpu a : shown.all()) {
            for (CudaGpu b : shown.all()) {
                if (a.ordinal() < b.ordinal()) {
                    texts.add("cuda:" + a.ordinal() + " - cuda:" + b.ordinal() + " " + joined(a, b) + ", "
                            + access(a, b));
                }
            }
        }
        return texts;
    }

    private static String access(CudaGpu a, CudaGpu b) {
        boolean there = possible(a, b);
        boolean back = possible(b, a);
        return there && back ? "peer access" : there || back ? "peer access one way only" : "no peer access";
    }

    private static boolean possible(CudaGpu from, CudaGpu to) {
        return Optional.ofNullable(from.peers().get(to.ordinal()))
                .filter(CudaGpu.Access::possible)
                .isPresent();
    }

    private String joined(CudaGpu a, CudaGpu b) {
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
