package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuArchitectures;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/**
 * The GPUs of a NCCL topology. They are numbered when all of a host are known: by {@code dev}, which is the number that
 * {@code nvidia-smi} and settings use and NCCL takes from NVML; without it in the order of ranks, then of bus ids. Ranks are the
 * order in which a launcher started processes, which may differ from the order of devices.
 */
final class NcclGpus {
    /** Name of the NVLink domain of a file with several hosts; NCCL joins only hosts of one domain in a file. */
    private static final String CLIQUE = "unnamed/0";

    /** Numbers of RCCL before it wrote names. */
    private static final Map<String, String> OLD_NAMES = Map.of("910", "gfx90a");

    private static final int UNNUMBERED = 1 << 20;

    private static final Comparator<Found> BY_RANK =
            Comparator.comparingInt((Found found) -> number(found, "rank")).thenComparing(Found::address);

    private final Topology.Builder topology;
    private final boolean rccl;
    private final List<Found> all = new ArrayList<>();

    NcclGpus(Topology.Builder topology, boolean rccl) {
        this.topology = topology;
        this.rccl = rccl;
    }

    /**
     * A GPU that is not numbered yet.
     *
     * @param pci its PCI function
     * @param gpu what NCCL knows of it; without attributes in templates
     * @param address its bus id
     * @param seat where it hangs
     */
    record Found(XmlElement pci, XmlElement gpu, PciAddress address, NcclSeat seat) {}

    void add(XmlElement pci, XmlElement gpu, PciAddress address, NcclSeat seat) {
        gpu.limit(all.size() + 1, Limits.GPUS, "GPUs");
        all.add(new Found(pci, gpu, address, seat));
    }

    void finish() {
        boolean fused = all.stream()
                        .filter(found -> NcclGpuLinks.usesSwitch(found.gpu()))
                        .map(found -> found.seat().host())
                        .distinct()
                        .count()
                > 1;
        Map<NcclTopology.Slot, Long> cards =
                all.stream().collect(Collectors.groupingBy(NcclGpus::card, Collectors.counting()));
        Map<Integer, List<Found>> hosts = new TreeMap<>();
        all.forEach(found -> hosts.computeIfAbsent(found.seat().host(), k -> new ArrayList<>())
                .add(found));
        List<NcclGpuLinks.Placed> placed = new ArrayList<>();
        hosts.values()
                .forEach(host -> numbered(host).forEach((index, found) -> {
                    boolean inClique = fused && NcclGpuLinks.usesSwitch(found.gpu());
                    boolean divided = vendor(found) == GpuVendor.AMD && cards.getOrDefault(card(found), 1L) > 1;
                    Gpu gpu = gpu(found, index)
                            .clique(inClique ? CLIQUE : "")
                            .card(divided ? card(found).address().toString() : "")
                            .build();
                    topology.add(gpu).link(found.seat().parent(), gpu, NcclSeat.link(found.pci()));
                    coherent(found, gpu);
                    placed.add(new NcclGpuLinks.Placed(gpu, found));
                }));
        new NcclGpuLinks(topology, placed).connect();
    }

    /** Partitions of an AMD GPU are functions of its PCI device. */
    private static NcclTopology.Slot card(Found found) {
        return new NcclTopology.Slot(found.seat().host(), found.address().card());
    }

    private static Map<Integer, Found> numbered(List<Found> host) {
        Map<Integer, Found> numbered = new TreeMap<>();
        host.forEach(found -> numbered.put(number(found, "dev"), found));
        // Files that were put together by hand repeat numbers, or lack some.
        if (numbered.size() < host.size() || numbered.containsKey(UNNUMBERED)) {
            numbered.clear();
            host.stream().sorted(BY_RANK).forEach(found -> numbered.put(numbered.size(), found));
        }
        return numbered;
    }

    private void coherent(Found found, Gpu gpu) {
        for (XmlElement link : found.gpu().children("c2c")) {
            int count = link.number("count", 1, Limits.GPU_LINKS, 1);
            double each = link.number("bw", 1, Limits.LINK_MEGABYTES, 0) / 1000.0;
            topology.link(gpu, found.seat().node(), new Link(LinkType.C2C, each * count, count));
        }
    }

    private Gpu.Builder gpu(Found found, int index) {
        PciId id = NcclSeat.id(found.pci());
        GpuVendor vendor = vendor(found);
        OptionalInt direct = found.gpu().number("gdr");
        return Gpu.builder(found.seat().host(), index, vendor)
                .address(Optional.of(found.address()))
                .id(id)
                .architecture(architecture(found.gpu(), id, vendor))
                .numa(found.seat().node().number())
                .gpuDirect(direct.isPresent() ? Optional.of(direct.getAsInt() != 0) : Optional.empty());
    }

    private GpuVendor vendor(Found found) {
        PciId id = NcclSeat.id(found.pci());
        if (id.vendor() >= 0) {
            return GpuArchitectures.vendor(id);
        }
        return rccl || found.gpu().attribute("gcn").isPresent() ? GpuVendor.AMD : GpuVendor.NVIDIA;
    }

    /** RCCL writes the number of compute units into {@code sm}, and the architecture into {@code gcn}. */
    private static String architecture(XmlElement gpu, PciId id, GpuVendor vendor) {
        String gcn = gpu.value("gcn");
        if (!gcn.isEmpty()) {
            return gcn.startsWith("gfx") ? gcn : OLD_NAMES.getOrDefault(gcn, "gfx" + gcn);
        }
        int capability = gpu.number("sm", 1, 999, -1);
        return vendor == GpuVendor.NVIDIA && capability > 0 ? "sm_" + capability : GpuArchitectures.of(id);
    }

    private static int number(Found found, String key) {
        return found.gpu().number(key, 0, UNNUMBERED - 1, UNNUMBERED);
    }
}
