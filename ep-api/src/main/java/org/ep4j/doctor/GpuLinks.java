package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.spi.Check;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Part;
import org.ep4j.topology.Topology;

/** How many links GPUs have to each other and to their switches. */
final class GpuLinks {
    /** How the reader of a recording begins what it says where NVLink cannot be told. */
    private static final String UNTOLD = "/sys does not describe NVLink";

    private final Topology topology;
    private final Map<Gpu, Integer> counts = new LinkedHashMap<>();
    private final Set<LinkType> types = new TreeSet<>();

    private GpuLinks(Topology topology) {
        this.topology = topology;
        topology.gpus().forEach(gpu -> counts.put(gpu, count(gpu)));
    }

    /** Whether a warning of a reader says that NVLink cannot be told, which {@link DoctorCode#GPU_LINKS} reports. */
    static boolean untold(String warning) {
        return warning.startsWith(UNTOLD);
    }

    static Check check(Topology topology) {
        DoctorCode code = DoctorCode.GPU_LINKS;
        if (topology.gpus().size() < 2) {
            return code.notApplicable("fewer than two GPUs");
        }
        if (topology.stated()) {
            return code.notApplicable("a text matrix does not give the number of links");
        }
        GpuLinks links = new GpuLinks(topology);
        Optional<String> untold =
                topology.warnings().stream().filter(GpuLinks::untold).findFirst();
        if (untold.isPresent() && links.noneOfNvidia()) {
            return code.notRun(
                    untold.get(), "run doctor on the machine, or check the output of nvidia-smi nvlink -s there");
        }
        List<String> findings = new ArrayList<>();
        links.without().ifPresent(findings::add);
        topology.only(GpuSwitch.class).forEach(one -> links.unequal(one).ifPresent(findings::add));
        return findings.isEmpty() ? code.pass(links.text()) : code.warn(String.join("; ", findings));
    }

    private boolean noneOfNvidia() {
        return counts.entrySet().stream()
                .noneMatch(entry -> entry.getKey().vendor() == GpuVendor.NVIDIA && entry.getValue() > 0);
    }

    private int most() {
        return counts.values().stream().max(Integer::compare).orElse(0);
    }

    private Optional<String> without() {
        String names = counts.entrySet().stream()
                .filter(entry -> entry.getValue() == 0)
                .map(entry -> entry.getKey().name())
                .collect(Collectors.joining(", "));
        return names.isEmpty() || most() == 0
                ? Optional.empty()
                : Optional.of(names + " without any link; other GPUs have links, up to " + most() + " each");
    }

    /** GPUs with fewer links than others on the same switch. */
    private Optional<String> unequal(GpuSwitch to) {
        Set<Part> neighbours = topology.neighbours(to);
        Map<Gpu, Integer> here = new LinkedHashMap<>();
        counts.forEach((gpu, count) -> {
            if (neighbours.contains(gpu)) {
                here.put(gpu, count);
            }
        });
        int most = here.values().stream().max(Integer::compare).orElse(0);
        String fewer = here.entrySet().stream()
                .filter(entry -> entry.getValue() < most)
                .map(entry -> entry.getKey().name() + " has " + links(entry.getValue()))
                .collect(Collectors.joining(", "));
        return fewer.isEmpty()
                ? Optional.empty()
                : Optional.of(fewer + "; other GPUs on " + to.name() + " have " + most);
    }

    private String text() {
        int fewest = counts.values().stream().min(Integer::compare).orElse(0);
        if (most() == 0) {
            return "GPUs are joined by PCIe alone";
        }
        return fewest == most() ? "every GPU has " + links(most()) : "every GPU has " + fewest + " to " + links(most());
    }

    private String links(int count) {
        String kind = types.size() != 1 ? "link" : types.contains(LinkType.NVLINK) ? "NVLink" : "xGMI link";
        return count + " " + kind + (count == 1 ? "" : "s");
    }

    private int count(Gpu gpu) {
        int count = 0;
        for (Part neighbour : topology.neighbours(gpu)) {
            for (Link link : topology.links(gpu, neighbour)) {
                if (link.type() == LinkType.NVLINK || link.type() == LinkType.XGMI) {
                    types.add(link.type());
                    count += link.count();
                }
            }
        }
        return count;
    }
}
