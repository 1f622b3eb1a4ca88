package org.ep4j.backend.nvlink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;

/**
 * Ranks on simulated machines: findings of their probes, and the profiles made of them.
 *
 * @param topology the machine as the rank's container shows it
 * @param gpus GPUs that CUDA shows
 * @param process the process
 * @param files of the machine
 */
record Ranks(Topology topology, VisibleGpus gpus, ProcessFacts process, FileTree files) {
    enum Joined {
        NVSWITCH,
        /** 4 NVLinks to the next GPU of the row alone. */
        ROW,
        /** One PCI switch for each pair of GPUs. */
        PAIRS_OF_PCI,
        /** One PCI switch for each pair of GPUs, all of them below another one. */
        SWITCHES_BELOW_A_SWITCH,
        /** Nothing is known. */
        UNKNOWN
    }

    static final FileTree NO_FILES = new Files(Map.of());
    static final FileTree IMEX = new Files(Map.of("/dev/nvidia-caps-imex-channels", List.of("channel0")));

    private record Files(Map<String, List<String>> folders) implements FileTree {
        @Override
        public Optional<String> text(String path) {
            return Optional.empty();
        }

        @Override
        public List<String> list(String path) {
            return folders.getOrDefault(path, List.of());
        }

        @Override
        public Optional<String> real(String path) {
            return Optional.empty();
        }

        @Override
        public Optional<String> link(String path) {
            return Optional.empty();
        }
    }

    static PciAddress address(int gpu) {
        return new PciAddress(0, 0x10 + gpu, 0, 0);
    }

    /** A rank of a host that sees GPUs by their places on the host, in the order in which CUDA numbers them. */
    static Ranks seeing(Joined joined, List<Integer> inContainer, List<Integer> visible) {
        return new Ranks(
                machine(joined, inContainer, ""),
                cuda(joined, visible, true),
                new ProcessFacts("p", "1000", "pid:[1]", "ipc:[1]"),
                NO_FILES);
    }

    static Ranks of(Joined joined, int gpus) {
        return seeing(joined, upTo(gpus), upTo(gpus));
    }

    static List<Integer> upTo(int count) {
        List<Integer> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(i);
        }
        return all;
    }

    Ranks in(ProcessFacts other) {
        return new Ranks(topology, gpus, other, files);
    }

    Ranks with(VisibleGpus other) {
        return new Ranks(topology, other, process, files);
    }

    /** In an NVLink domain beyond the host. */
    Ranks inDomain(String clique, FileTree channels) {
        return new Ranks(machine(Joined.NVSWITCH, upTo(gpus.all().size()), clique), gpus, process, channels);
    }

    ProbeReport probe(Device device) {
        return new NvlinkProbe(new IpcNvlinkProvider(), () -> gpus, () -> topology, () -> process, files).probe(device);
    }

    /** The profile of a rank with a GPU, by CUDA's number. */
    RankProfile profile(int rank, String host, int ordinal) {
        return profile(rank, host, ordinal, "");
    }

    RankProfile profile(int rank, String host, int ordinal, String domain) {
        Device device = Device.cuda(ordinal);
        ProbeReport report = probe(device);
        PciAddress mine = gpus.all().get(ordinal).address().orElseThrow();
        Locality locality = topology.gpus().stream()
                .filter(gpu -> gpu.address().equals(Optional.of(mine)))
                .findFirst()
                .map(gpu -> Localities.of(topology, gpu, -1))
                .orElse(Locality.UNKNOWN);
        return RankProfile.builder(rank, host, device)
                .pid(100 + rank)
                .locality(locality)
                .domain(domain)
                .backends(Map.of(IpcNvlinkProvider.ID, BackendProfile.of(report)))
                .build();
    }

    private static VisibleGpus cuda(Joined joined, List<Integer> visible, boolean fabric) {
        List<VisibleGpu> all = new ArrayList<>();
        for (int ordinal = 0; ordinal < visible.size(); ordinal++) {
            Map<Integer, VisibleGpu.Peer> peers = new HashMap<>();
            for (int other = 0; other < visible.size(); other++) {
                if (other != ordinal) {
                    peers.put(
                            other, new VisibleGpu.Peer(true, joined == Joined.NVSWITCH || joined == Joined.UNKNOWN, 1));
                }
            }
            all.add(new VisibleGpu(
                    ordinal, "NVIDIA Test", Optional.of(address(visible.get(ordinal))), "sm_90", true, fabric, peers));
        }
        return new VisibleGpus("driver for CUDA 13.0", all);
    }

    /** NVML numbers the GPUs of the container, whatever their places on the host are. */
    private static Topology machine(Joined joined, List<Integer> inContainer, String clique) {
        Topology.Builder builder = Topology.builder("test");
        if (joined == Joined.UNKNOWN) {
            return builder.build();
        }
        int host = builder.host("m");
        NumaNode numa = new NumaNode(host, 0, Processor.UNKNOWN);
        builder.add(numa);
        GpuSwitch nvswitch = new GpuSwitch(host, "NVSwitch");
        List<Gpu> gpus = new ArrayList<>();
        for (int index = 0; index < inContainer.size(); index++) {
            int place = inContainer.get(index);
            Gpu gpu = Gpu.builder(host, index, GpuVendor.NVIDIA)
                    .address(Optional.of(address(place)))
                    .architecture("sm_90")
                    .numa(0)
                    .gpuDirect(Optional.of(true))
                    .clique(clique)
                    .build();
            PciSwitch pci = new PciSwitch(host, new PciAddress(0, 1 + place / 2, 0, 0), PciId.UNKNOWN);
            Part above = numa;
            if (joined == Joined.SWITCHES_BELOW_A_SWITCH) {
                above = new PciSwitch(host, new PciAddress(0, 0x80, 0, 0), PciId.UNKNOWN);
                builder.add(above).link(above, numa, new Link(LinkType.PCI, 48, 1));
            }
            builder.add(gpu)
                    .add(pci)
                    .link(pci, above, new Link(LinkType.PCI, 48, 1))
                    .link(gpu, pci, new Link(LinkType.PCI, 48, 1));
            if (joined == Joined.NVSWITCH) {
                builder.add(nvswitch).link(gpu, nvswitch, new Link(LinkType.NVLINK, 370.8, 18));
            }
            if (joined == Joined.ROW && index > 0 && inContainer.get(index - 1) == place - 1) {
                builder.link(gpu, gpus.get(index - 1), new Link(LinkType.NVLINK, 82.4, 4));
            }
            gpus.add(gpu);
        }
        return builder.build();
    }
}
