package org.ep4j.doctor;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.spi.Check;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Part;
import org.ep4j.topology.Topology;
import org.ep4j.topology.read.ImexChannels;

/** Links between GPUs, on the host and beyond. */
final class GpuChecks implements Examination {
    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(links(input.topology()), channels(input));
    }

    private static Check links(Topology topology) {
        if (topology.gpus().size() < 2) {
            return DoctorCode.GPU_LINKS.notApplicable("fewer than two GPUs");
        }
        if (topology.stated()) {
            return DoctorCode.GPU_LINKS.notApplicable("a matrix as text does not tell links");
        }
        Map<Gpu, Integer> counts = new LinkedHashMap<>();
        topology.gpus().forEach(gpu -> counts.put(gpu, count(topology, gpu)));
        TreeSet<Integer> different = new TreeSet<>(counts.values());
        if (different.first() == 0 && different.last() > 0) {
            return DoctorCode.GPU_LINKS.warn(counts.entrySet().stream()
                            .filter(entry -> entry.getValue() == 0)
                            .map(entry -> entry.getKey().name())
                            .collect(Collectors.joining(", "))
                    + " without any link, others have up to " + different.last());
        }
        return DoctorCode.GPU_LINKS.pass(
                different.last() == 0
                        ? "GPUs are joined by PCIe alone"
                        : different.first().equals(different.last())
                                ? "every GPU has " + different.last()
                                : "every GPU has " + different.first() + " to " + different.last());
    }

    private static int count(Topology topology, Gpu gpu) {
        int count = 0;
        for (Part neighbour : topology.neighbours(gpu)) {
            for (Link link : topology.links(gpu, neighbour)) {
                count += link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI ? link.count() : 0;
            }
        }
        return count;
    }

    private static Check channels(DoctorInput input) {
        List<String> members = input.topology().gpus().stream()
                .filter(gpu -> !gpu.clique().isEmpty())
                .map(Gpu::name)
                .toList();
        if (members.isEmpty()) {
            return DoctorCode.IMEX_CHANNELS.notApplicable("no GPU belongs to an NVLink domain of several hosts");
        }
        List<String> channels = ImexChannels.of(input.files());
        return channels.isEmpty()
                ? DoctorCode.IMEX_CHANNELS.warn(
                        ImexChannels.FOLDER + " has no channel for " + String.join(", ", members))
                : DoctorCode.IMEX_CHANNELS.pass(ImexChannels.FOLDER + " has " + String.join(", ", channels));
    }
}
