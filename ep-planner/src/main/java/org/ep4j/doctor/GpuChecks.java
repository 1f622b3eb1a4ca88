package org.ep4j.doctor;

import com.google.common.collect.Maps;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.LinuxTopology;

/** Checks of the links between GPUs, on the host and beyond. */
final class GpuChecks implements Examination {
    /** Begins the warning of the reader of a recording that NVLinks are unknown. */
    private static final String NVLINK_UNKNOWN = "/sys does not describe NVLink";

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(links(input.topology()), channels(input));
    }

    private static Check channels(DoctorInput input) {
        List<String> members = input.topology().gpus().stream()
                .filter(gpu -> !gpu.clique().isEmpty())
                .map(Gpu::name)
                .toList();
        if (members.isEmpty()) {
            return DoctorCode.IMEX_CHANNELS.notApplicable("no GPU belongs to an NVLink domain of several hosts");
        }
        List<String> channels = input.files().list(LinuxTopology.IMEX_CHANNELS);
        return channels.isEmpty()
                ? DoctorCode.IMEX_CHANNELS.warn(
                        LinuxTopology.IMEX_CHANNELS + " has no channel for " + String.join(", ", members))
                : DoctorCode.IMEX_CHANNELS.pass(LinuxTopology.IMEX_CHANNELS + " has " + String.join(", ", channels));
    }

    /** Returns true for the warning that NVLinks are unknown, which {@link DoctorCode#GPU_LINKS} reports. */
    static boolean isNvlinkUnknown(String warning) {
        return warning.startsWith(NVLINK_UNKNOWN);
    }

    private static Check links(Topology topology) {
        DoctorCode code = DoctorCode.GPU_LINKS;
        if (topology.gpus().size() < 2) {
            return code.notApplicable("fewer than two GPUs");
        }
        if (topology.stated()) {
            return code.notApplicable("a text matrix does not give the number of links");
        }
        Map<Gpu, Integer> counts = new LinkedHashMap<>();
        Set<LinkType> types = new TreeSet<>();
        for (Gpu gpu : topology.gpus()) {
            List<Link> links = topology.neighbours(gpu).stream()
                    .flatMap(part -> topology.links(gpu, part).stream())
                    .filter(link -> link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI)
                    .toList();
            links.forEach(link -> types.add(link.type()));
            counts.put(gpu, links.stream().mapToInt(Link::count).sum());
        }
        Optional<String> unknown =
                topology.warnings().stream().filter(GpuChecks::isNvlinkUnknown).findFirst();
        if (unknown.isPresent()
                && counts.keySet().stream()
                        .noneMatch(gpu -> gpu.vendor() == GpuVendor.NVIDIA && counts.getOrDefault(gpu, 0) > 0)) {
            return code.notRun(
                    unknown.get(), "run doctor on the machine, or check the output of nvidia-smi nvlink -s there");
        }
        int most = Collections.max(counts.values());
        if (most == 0) {
            return code.pass("GPUs are joined by PCIe alone");
        }
        String kind = types.size() != 1 ? "link" : types.contains(LinkType.NVLINK) ? "NVLink" : "xGMI link";
        List<String> findings = new ArrayList<>();
        String without = counts.keySet().stream()
                .filter(gpu -> counts.getOrDefault(gpu, 0) == 0)
                .map(Gpu::name)
                .collect(Collectors.joining(", "));
        if (!without.isEmpty()) {
            findings.add(without + " without any link; other GPUs have links, up to " + most + " each");
        }
        topology.only(GpuSwitch.class).forEach(one -> {
            Map<Gpu, Integer> here = Maps.filterKeys(counts, topology.neighbours(one)::contains);
            int mostHere = here.values().stream().max(Integer::compare).orElse(0);
            String fewer = here.entrySet().stream()
                    .filter(entry -> entry.getValue() < mostHere)
                    .map(entry -> entry.getKey().name() + " has " + counted(entry.getValue(), kind))
                    .collect(Collectors.joining(", "));
            if (!fewer.isEmpty()) {
                findings.add(fewer + "; other GPUs on " + one.name() + " have " + mostHere);
            }
        });
        int fewest = Collections.min(counts.values());
        return findings.isEmpty()
                ? code.pass("every GPU has " + (fewest == most ? "" : fewest + " to ") + counted(most, kind))
                : code.warn(String.join("; ", findings));
    }

    private static String counted(int count, String kind) {
        return count + " " + kind + (count == 1 ? "" : "s");
    }
}
