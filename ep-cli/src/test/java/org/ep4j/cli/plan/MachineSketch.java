package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.cli.plan.Published.Hardware;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/** A host of published hardware: every GPU with its NICs below a switch of its own, GPUs joined as their vendor joins them. */
final class MachineSketch {
    private MachineSketch() {}

    static Topology of(Hardware hardware) {
        Topology.Builder builder = Topology.builder(hardware.id());
        int host = builder.host("");
        NumaNode numa = new NumaNode(host, 0, Processor.UNKNOWN);
        builder.add(numa);
        Link pci = new Link(LinkType.PCI, LinkBandwidths.pci(64, 16), 1);
        List<Gpu> gpus = new ArrayList<>();
        for (int index = 0; index < hardware.gpus(); index++) {
            PciSwitch pciSwitch = new PciSwitch(host, new PciAddress(0, index + 1, 0, 0), PciId.UNKNOWN);
            Gpu gpu = gpu(hardware, host, index);
            builder.add(pciSwitch).link(pciSwitch, numa, pci).add(gpu).link(gpu, pciSwitch, pci);
            join(builder, hardware, gpu, gpus);
            gpus.add(gpu);
            for (int n = 0; n < hardware.nicsPerGpu(); n++) {
                Nic nic = nic(hardware, host, "nic" + (index * hardware.nicsPerGpu() + n));
                builder.add(nic).link(nic, pciSwitch, pci);
            }
        }
        return builder.build();
    }

    private static Gpu gpu(Hardware hardware, int host, int index) {
        return Gpu.builder(host, index, hardware.vendor())
                .architecture(hardware.architecture())
                .numa(0)
                .gpuDirect(Optional.of(true))
                .build();
    }

    private static void join(Topology.Builder builder, Hardware hardware, Gpu gpu, List<Gpu> others) {
        if (hardware.vendor() == GpuVendor.AMD) {
            others.forEach(other -> builder.link(gpu, other, new Link(LinkType.XGMI, hardware.linkGigabytes(), 1)));
        } else {
            GpuSwitch nvswitch = new GpuSwitch(gpu.host(), "NVSwitch");
            builder.add(nvswitch).link(gpu, nvswitch, new Link(LinkType.NVLINK, hardware.linkGigabytes(), 1));
        }
    }

    private static Nic nic(Hardware hardware, int host, String name) {
        return new Nic(
                host,
                name,
                Optional.empty(),
                PciId.UNKNOWN,
                hardware.family(),
                "",
                name,
                0,
                Optional.of(true),
                true,
                List.of(NicPort.of(1, hardware.nicGigabits())));
    }
}
