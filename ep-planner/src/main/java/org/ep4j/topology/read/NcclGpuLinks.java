package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;

/**
 * NVLink and xGMI of a NCCL topology. All NVSwitches are one, also those of several hosts in one file: NCCL joins hosts in
 * a file only when they are one NVLink domain.
 */
final class NcclGpuLinks {
    private static final String SWITCH_CLASS = "0x068000";
    private static final String PROCESSOR_CLASS = "0x068001";

    /** What NCCL writes where the other end cannot be seen: in VMs, and with the switch trays of NVLink 5. */
    private static final String HIDDEN = "fffffff:";

    private final Topology.Builder topology;
    private final List<Placed> gpus;
    private final Map<NcclTopology.Slot, Gpu> bySlot = new HashMap<>();
    private final Map<Gpu, Map<Gpu, Integer>> direct = new LinkedHashMap<>();

    /** A numbered GPU and what the file says of it. */
    record Placed(Gpu gpu, NcclGpus.Found found) {}

    NcclGpuLinks(Topology.Builder topology, List<Placed> gpus) {
        this.topology = topology;
        this.gpus = gpus;
        for (Placed placed : gpus) {
            bySlot.putIfAbsent(
                    new NcclTopology.Slot(placed.gpu().host(), placed.found().address()), placed.gpu());
        }
    }

    /** True when an NVLink of the GPU goes to an NVSwitch. */
    static boolean usesSwitch(XmlElement gpu) {
        return gpu.children("nvlink").stream().anyMatch(NcclGpuLinks::toSwitch);
    }

    private static boolean toSwitch(XmlElement link) {
        return link.number("count").orElse(0) > 0
                && (link.value("tclass").startsWith(SWITCH_CLASS)
                        || link.value("target").startsWith(HIDDEN));
    }

    void connect() {
        GpuSwitch shared = new GpuSwitch(
                gpus.stream().mapToInt(placed -> placed.gpu().host()).min().orElse(0), "NVSwitch");
        for (Placed placed : gpus) {
            XmlElement gpu = placed.found().gpu();
            for (XmlElement link : gpu.children("nvlink")) {
                nvlink(placed, link, shared);
            }
            for (XmlElement link : gpu.children("xgmi")) {
                peer(placed, link);
            }
        }
        GpuPackages packages =
                new GpuPackages(topology, gpus.stream().map(Placed::gpu).toList());
        direct.forEach((from, links) -> links.forEach((to, count) -> direct(from, to, count, packages)));
        packages.finish();
    }

    private void nvlink(Placed placed, XmlElement link, GpuSwitch shared) {
        int count = link.number("count", 0, Limits.GPU_LINKS, 0);
        if (count > 0 && toSwitch(link)) {
            topology.add(shared).link(placed.gpu(), shared, new Link(LinkType.NVLINK, count * rate(placed), count));
        } else if (count > 0 && link.value("tclass").startsWith(PROCESSOR_CLASS)) {
            Link bundle = new Link(LinkType.NVLINK, count * rate(placed), count);
            topology.link(placed.gpu(), placed.found().seat().node(), bundle);
        } else {
            peer(placed, link);
        }
    }

    private void peer(Placed placed, XmlElement link) {
        int count = link.number("count", 0, Limits.GPU_LINKS, 0);
        Optional<Gpu> target = PciAddress.parse(link.value("target"))
                .flatMap(address -> Optional.ofNullable(
                        bySlot.get(new NcclTopology.Slot(placed.gpu().host(), address))));
        if (count == 0) {
            topology.warn("line " + link.line() + ": " + placed.gpu().name() + " has a <" + link.name()
                    + "> with count " + Faults.quote(link.value("count")) + ", which is no link");
        } else if (target.isEmpty() || target.get().equals(placed.gpu())) {
            topology.warn("line " + link.line() + ": " + placed.gpu().name() + " has a <" + link.name() + "> to "
                    + Faults.quote(link.value("target")) + ", which is no other GPU of the file; the link is left out");
        } else {
            direct.computeIfAbsent(placed.gpu(), any -> new LinkedHashMap<>()).merge(target.get(), count, Integer::sum);
        }
    }

    /** Both ends name a link. Where only one does, or they differ, the larger count is right: a part was not seen. */
    private void direct(Gpu from, Gpu to, int count, GpuPackages packages) {
        int back = direct.getOrDefault(to, Map.of()).getOrDefault(from, 0);
        boolean mine = count > back || (count == back && from.index() < to.index());
        if (mine) {
            boolean xgmi = from.vendor() == GpuVendor.AMD;
            double each = xgmi ? LinkBandwidths.xgmi(from.architecture()) : LinkBandwidths.nvlink(capability(from));
            packages.join(from, to, new Link(xgmi ? LinkType.XGMI : LinkType.NVLINK, each * count, count));
        }
    }

    private static double rate(Placed placed) {
        return LinkBandwidths.nvlink(capability(placed.gpu()));
    }

    private static int capability(Gpu gpu) {
        String architecture = gpu.architecture();
        return architecture.matches("sm_[0-9]{1,3}") ? Integer.parseInt(architecture.substring(3)) : -1;
    }
}
