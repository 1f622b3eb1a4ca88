package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NicPort.State;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/** Small machines for tests: each GPU with its NICs below a switch of its own. */
final class Machines {
    private final Topology.Builder builder = Topology.builder("test machine");
    private final int host = builder.host("m");
    private final NumaNode numa = new NumaNode(host, 0, Processor.UNKNOWN);
    private final GpuSwitch nvswitch = new GpuSwitch(host, "NVSwitch");
    private int switches;

    private Machines() {
        builder.add(numa);
    }

    /** The ranks of a machine, with no settings. */
    static SimulatedRanks ranks(Topology machine, List<PlannedBackend> backends, SimulatedRanks.Options options) {
        return SimulatedRanks.of(
                machine, backends, options, EpConfig.builder(Map.of(), Map.of()).build());
    }

    enum Joined {
        NVSWITCH,
        XGMI,
        NOT
    }

    /** What a test may vary of a NIC. */
    record NicKind(NicFamily family, int perGpu, double gigabits, LinkLayer layer, boolean gpuDirect, State state) {
        static NicKind of(NicFamily family, int perGpu, double gigabits) {
            return new NicKind(family, perGpu, gigabits, LinkLayer.UNSPECIFIED, true, State.ACTIVE);
        }

        NicKind layer(LinkLayer other) {
            return new NicKind(family, perGpu, gigabits, other, gpuDirect, state);
        }

        NicKind withoutGpuDirect() {
            return new NicKind(family, perGpu, gigabits, layer, false, state);
        }

        NicKind down() {
            return new NicKind(family, perGpu, gigabits, layer, gpuDirect, State.DOWN);
        }
    }

    static Topology gpus(int gpus, GpuVendor vendor, Joined joined, List<NicKind> nics) {
        return new Machines().build(gpus, vendor, joined, nics, true, PciId.UNKNOWN, "");
    }

    /** With the NICs below the processor, away from the GPUs. */
    static Topology farNics(int gpus, GpuVendor vendor, Joined joined, List<NicKind> nics) {
        return new Machines().build(gpus, vendor, joined, nics, false, PciId.UNKNOWN, "");
    }

    static Topology inClique(int gpus, String clique, List<NicKind> nics) {
        return new Machines().build(gpus, GpuVendor.NVIDIA, Joined.NVSWITCH, nics, true, PciId.UNKNOWN, clique);
    }

    static Topology ofModel(int gpus, int device) {
        return new Machines()
                .build(gpus, GpuVendor.NVIDIA, Joined.NOT, List.of(), true, new PciId(0x10de, device, -1, -1, -1), "");
    }

    static Topology hostOnly(List<NicKind> nics) {
        return new Machines().build(0, GpuVendor.OTHER, Joined.NOT, nics, false, PciId.UNKNOWN, "");
    }

    private Topology build(
            int gpus, GpuVendor vendor, Joined joined, List<NicKind> nics, boolean near, PciId id, String clique) {
        List<Gpu> made = new ArrayList<>();
        for (int g = 0; g < gpus; g++) {
            PciSwitch pci = pciSwitch();
            Gpu gpu = Gpu.builder(host, g, vendor)
                    .id(id)
                    .architecture(id.device() >= 0 ? "" : vendor == GpuVendor.AMD ? "gfx942" : "sm_90")
                    .numa(0)
                    .gpuDirect(Optional.of(true))
                    .clique(clique)
                    .build();
            builder.add(gpu).link(gpu, pci, new Link(LinkType.PCI, 48, 1));
            if (joined == Joined.NVSWITCH) {
                builder.add(nvswitch).link(gpu, nvswitch, new Link(LinkType.NVLINK, 370.8, 18));
            }
            if (joined == Joined.XGMI) {
                made.forEach(other -> builder.link(gpu, other, new Link(LinkType.XGMI, 48, 1)));
            }
            made.add(gpu);
            for (NicKind nic : nics) {
                for (int n = 0; n < nic.perGpu(); n++) {
                    Nic added = nic(nic, nic.family().name().toLowerCase(Locale.ROOT) + "_" + g + "_" + n);
                    builder.add(added).link(added, near ? pci : numa, new Link(LinkType.PCI, 48, 1));
                }
            }
        }
        if (gpus == 0) {
            for (NicKind nic : nics) {
                Nic added = nic(nic, nic.family().name().toLowerCase(Locale.ROOT) + "_0");
                builder.add(added).link(added, numa, new Link(LinkType.PCI, 48, 1));
            }
        }
        return builder.build();
    }

    private PciSwitch pciSwitch() {
        PciSwitch pci = new PciSwitch(host, new PciAddress(0, ++switches, 0, 0), PciId.UNKNOWN);
        builder.add(pci).link(pci, numa, new Link(LinkType.PCI, 48, 1));
        return pci;
    }

    private Nic nic(NicKind kind, String name) {
        NicPort port = new NicPort(1, kind.state(), kind.layer(), kind.gigabits(), 0, 0, "", List.of());
        return new Nic(
                host,
                name,
                Optional.empty(),
                PciId.UNKNOWN,
                kind.family(),
                "",
                name,
                0,
                Optional.of(kind.gpuDirect()),
                true,
                List.of(port));
    }
}
