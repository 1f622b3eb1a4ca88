package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/** Machines made up in the shape of real ones. */
final class Machines {
    private static final Link PCIE5 = new Link(LinkType.PCI, 48, 1);

    private Machines() {}

    /** Two NUMA nodes, eight switches with a GPU and some NICs each, all GPUs on NVSwitch. */
    static Topology eightGpus(int nicsPerGpu) {
        Topology.Builder machine = Topology.builder("eight GPUs");
        int host = machine.host("node-1");
        GpuSwitch bar = new GpuSwitch(host, "NVSwitch");
        List<NumaNode> nodes = numaNodes(machine, host, 2);
        for (int g = 0; g < 8; g++) {
            HostBridge bridge = new HostBridge(host, "pci0000:" + (10 + g));
            PciSwitch pci = new PciSwitch(host, new PciAddress(0, 0x10 * (g + 1), 0, 0), PciId.UNKNOWN);
            Gpu gpu = gpu(host, g, new PciAddress(0, 0x10 * (g + 1) + 9, 0, 0), GpuVendor.NVIDIA, g / 4);
            machine.add(bridge).add(pci).add(gpu);
            machine.link(nodes.get(g / 4), bridge, new Link(LinkType.ROOT, 5000, 1));
            machine.link(bridge, pci, PCIE5).link(pci, gpu, PCIE5);
            for (int n = 0; n < nicsPerGpu; n++) {
                int number = g * nicsPerGpu + n;
                Nic nic = nic(host, "rdma" + number, new PciAddress(0, 0x10 * (g + 1) + n, 0, 0), g / 4, 100);
                machine.add(nic).link(pci, nic, PCIE5);
            }
            if (g == 0) {
                machine.add(bar);
            }
            machine.link(gpu, bar, new Link(LinkType.NVLINK, 370.8, 18));
        }
        return machine.build();
    }

    /** Eight accelerators in eight partitions each, every two partitions joined, no NIC. */
    static Topology partitions() {
        Topology.Builder machine = Topology.builder("64 partitions");
        int host = machine.host("");
        List<NumaNode> nodes = numaNodes(machine, host, 2);
        List<Gpu> gpus = new ArrayList<>();
        for (int p = 0; p < 64; p++) {
            Gpu gpu = gpu(host, p, new PciAddress(0, 8 * (p / 8), 0, p % 8), GpuVendor.AMD, p / 32);
            machine.add(gpu).link(nodes.get(p / 32), gpu, PCIE5);
            gpus.forEach(other -> machine.link(other, gpu, new Link(LinkType.XGMI, 48, 1)));
            gpus.add(gpu);
        }
        return machine.build();
    }

    /** Eight GPUs joined as a cube mesh and two NICs, all on two NUMA nodes without switches. */
    static Topology cubeMesh() {
        Topology.Builder machine = Topology.builder("cube mesh");
        int host = machine.host("");
        List<NumaNode> nodes = numaNodes(machine, host, 2);
        List<Gpu> gpus = new ArrayList<>();
        for (int g = 0; g < 8; g++) {
            Gpu gpu = gpu(host, g, new PciAddress(0, g + 1, 0, 0), GpuVendor.NVIDIA, g / 4);
            machine.add(gpu).link(nodes.get(g / 4), gpu, PCIE5);
            gpus.add(gpu);
        }
        int[][] pairs = {
            {0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {4, 5}, {4, 6}, {4, 7}, {5, 6}, {5, 7}, {6, 7}, {0, 4},
            {1, 5}, {2, 6}, {3, 7}
        };
        for (int[] pair : pairs) {
            machine.link(gpus.get(pair[0]), gpus.get(pair[1]), new Link(LinkType.NVLINK, 40, 2));
        }
        for (int n = 0; n < 2; n++) {
            Nic nic = nic(host, "mlx5_" + n, new PciAddress(0, 0x40 + n, 0, 0), n, 200);
            machine.add(nic).link(nodes.get(n), nic, PCIE5);
        }
        return machine.build();
    }

    /** Two hosts of four GPUs each in one NVLink domain. */
    static Topology twoHosts() {
        Topology.Builder machine = Topology.builder("two trays");
        GpuSwitch bar = new GpuSwitch(0, "NVSwitch");
        machine.add(bar);
        for (int h = 0; h < 2; h++) {
            int host = machine.host("tray" + h);
            List<NumaNode> nodes = numaNodes(machine, host, 2);
            for (int g = 0; g < 4; g++) {
                Gpu gpu = gpu(host, g, new PciAddress(0, g + 1, 0, 0), GpuVendor.NVIDIA, g / 2);
                machine.add(gpu).link(nodes.get(g / 2), gpu, PCIE5);
                machine.link(gpu, nodes.get(g / 2), new Link(LinkType.C2C, 200, 1));
                machine.link(gpu, bar, new Link(LinkType.NVLINK, 721.8, 18));
                Nic nic = nic(host, "mlx5_" + g, new PciAddress(0, 0x40 + g, 0, 0), g / 2, 400);
                machine.add(nic).link(nodes.get(g / 2), nic, PCIE5);
            }
        }
        return machine.build();
    }

    /** Distances without links, as a matrix gives them. */
    static Topology matrix() {
        Topology.Builder machine = Topology.builder("matrix");
        int host = machine.host("");
        Gpu a = Gpu.builder(host, 0, GpuVendor.NVIDIA).build();
        Gpu b = Gpu.builder(host, 1, GpuVendor.NVIDIA).build();
        Nic nic = new Nic(
                host,
                "<mlx5 & \"one\">\u0001",
                Optional.empty(),
                PciId.UNKNOWN,
                NicFamily.MLX5,
                "",
                "",
                -1,
                Optional.empty(),
                true,
                List.of());
        machine.add(a).add(b).add(nic);
        machine.state(a, b, new Distance(PathType.NVL, 0, 0));
        machine.state(a, nic, new Distance(PathType.PIX, 0, 0));
        machine.state(b, nic, new Distance(PathType.SYS, 0, 0));
        return machine.warn("a line was odd").build();
    }

    /** As {@link #matrix}, with the NUMA nodes of GPUs, and a NIC that is near the first. */
    static Topology matrixWithNuma() {
        Topology.Builder machine = Topology.builder("matrix");
        int host = machine.host("");
        Nic nic = new Nic(
                host,
                "near",
                Optional.empty(),
                PciId.UNKNOWN,
                NicFamily.MLX5,
                "",
                "",
                -1,
                Optional.empty(),
                true,
                List.of());
        for (int n = 0; n < 2; n++) {
            Gpu gpu = Gpu.builder(host, n, GpuVendor.NVIDIA).numa(n).build();
            machine.add(new NumaNode(host, n, Processor.UNKNOWN)).add(gpu).add(nic);
            machine.state(gpu, nic, new Distance(n == 0 ? PathType.NODE : PathType.SYS, 0, 0));
        }
        return machine.build();
    }

    /** A GPU, and as near to it three interfaces without RDMA: of 1 Gb/s, of 10 Gb/s, and of a virtual bridge. */
    static Topology sockets() {
        Topology.Builder machine = Topology.builder("sockets");
        int host = machine.host("");
        NumaNode node = numaNodes(machine, host, 1).get(0);
        Gpu gpu = gpu(host, 0, new PciAddress(0, 1, 0, 0), GpuVendor.NVIDIA, 0);
        machine.add(gpu).link(node, gpu, PCIE5);
        Map<String, Double> rates = new LinkedHashMap<>();
        rates.put("eno1", 1.0);
        rates.put("eno2", 10.0);
        rates.put("virbr0", 10.0);
        rates.forEach((name, rate) -> {
            NicPort port =
                    new NicPort(1, NicPort.State.ACTIVE, NicReach.LinkLayer.ETHERNET, rate, 0, 0, name, List.of());
            Nic nic = new Nic(
                    host,
                    name,
                    Optional.empty(),
                    PciId.UNKNOWN,
                    NicFamily.ETHERNET,
                    "",
                    name,
                    0,
                    Optional.of(false),
                    true,
                    List.of(port));
            machine.add(nic).link(node, nic, PCIE5);
        });
        return machine.build();
    }

    /** Nothing but a host. */
    static Topology empty() {
        return Topology.builder("nothing").build();
    }

    private static List<NumaNode> numaNodes(Topology.Builder machine, int host, int count) {
        List<NumaNode> nodes = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            NumaNode node = new NumaNode(host, n, new Processor("x86_64", "GenuineIntel", 6, 143));
            machine.add(node);
            nodes.forEach(other -> machine.link(other, node, new Link(LinkType.CPU, 22, 1)));
            nodes.add(node);
        }
        return nodes;
    }

    private static Gpu gpu(int host, int index, PciAddress address, GpuVendor vendor, int numa) {
        String architecture = vendor == GpuVendor.AMD ? "gfx942" : "sm_90";
        return Gpu.builder(host, index, vendor)
                .address(Optional.of(address))
                .architecture(architecture)
                .model("Model with a name too long for its box")
                .numa(numa)
                .gpuDirect(Optional.of(true))
                .build();
    }

    private static Nic nic(int host, String name, PciAddress address, int numa, double rate) {
        NicPort port =
                new NicPort(1, NicPort.State.ACTIVE, NicReach.LinkLayer.INFINIBAND, rate, 4096, 7, "", List.of());
        return new Nic(
                host,
                name,
                Optional.of(address),
                PciId.UNKNOWN,
                NicFamily.MLX5,
                "mlx5_core",
                address.toString(),
                numa,
                Optional.of(true),
                true,
                List.of(port));
    }

    /** Every part but the switches between GPUs. */
    static List<Part> placed(Topology topology) {
        return topology.parts().stream()
                .filter(part -> !(part instanceof GpuSwitch))
                .toList();
    }
}
