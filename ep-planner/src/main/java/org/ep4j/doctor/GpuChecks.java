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
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.LinuxTopology;

/** Links between GPUs, on the host and beyond. */
final class GpuChecks implements Examination {
    /** How the reader of a recording begins what it says where NVLink cannot be told. */
    private static final String UNTOLD = "/sys does not describe NVLink";

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

    /** Whether a warning of a reader says that NVLink cannot be told, which {@link DoctorCode#GPU_LINKS} reports. */
    static boolean untold(String warning) {
        return warning.startsWith(UNTOLD);
    }

    private static Check links(Topology topology) {
        DoctorCode code = DoctorCode.GPU_LINKS;
        if (topology.gpus().size() < 2) {
            return code.notApplicable("fewer than two GPUs");
        }
        if (topology.stated()) {
            return code.notApplicable("a text matrix does not give the number of links");
        }
        LinkCounts links = new LinkCounts(topology);
        Optional<String> untold =
                topology.warnings().stream().filter(GpuChecks::untold).findFirst();
        if (untold.isPresent() && links.noneOfNvidia()) {
            return code.notRun(
                    untold.get(), "run doctor on the machine, or check the output of nvidia-smi nvlink -s there");
        }
        List<String> findings = new ArrayList<>();
        links.without().ifPresent(findings::add);
        topology.only(GpuSwitch.class).forEach(one -> links.unequal(one).ifPresent(findings::add));
        return findings.isEmpty() ? code.pass(links.text()) : code.warn(String.join("; ", findings));
    }

    /** How many links GPUs have to each other and to their switches. */
    private static final class LinkCounts {
        private final Topology topology;
        private final Map<Gpu, Integer> counts = new LinkedHashMap<>();
        private final Set<LinkType> types = new TreeSet<>();

        private LinkCounts(Topology topology) {
            this.topology = topology;
            topology.gpus().forEach(gpu -> counts.put(gpu, count(gpu)));
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
            return "every GPU has " + (fewest == most() ? "" : fewest + " to ") + links(most());
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
}
