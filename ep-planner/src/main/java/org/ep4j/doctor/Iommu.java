package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.PciAddress;

/**
 * What the IOMMU does to GPUs and NICs.
 *
 * @param units names of the units that are on
 * @param translating devices whose addresses are translated, with the type of their group
 * @param unknown devices of which the kernel does not tell
 */
record Iommu(List<String> units, List<String> translating, List<String> unknown) {
    static Iommu of(DoctorInput input) {
        List<String> units = input.files().list("/sys/class/iommu");
        List<String> translating = new ArrayList<>();
        List<String> unknown = new ArrayList<>();
        boolean passThrough = input.files()
                .text("/proc/cmdline")
                .orElse("")
                .matches("(?s)(.*\\s)?iommu(\\.passthrough)?=(pt|1)(\\s.*)?");
        if (!units.isEmpty()) {
            devices(input).forEach((name, address) -> {
                Optional<String> type = input.files()
                        .real("/sys/bus/pci/devices/" + address + "/iommu_group")
                        .flatMap(group -> input.files().text(group + "/type"));
                if (type.filter(t -> t.startsWith("DMA")).isPresent()) {
                    translating.add(name + " (" + type.get() + ")");
                } else if (type.isEmpty() && !passThrough) {
                    unknown.add(name);
                }
            });
        }
        return new Iommu(units, translating, unknown);
    }

    /** GPUs and NICs with RDMA that have a PCI function, by name. */
    static Map<String, PciAddress> devices(DoctorInput input) {
        Map<String, PciAddress> all = new LinkedHashMap<>();
        for (Gpu gpu : input.topology().gpus()) {
            gpu.address().ifPresent(address -> all.put(gpu.name(), address));
        }
        for (Nic nic : input.rdmaNics()) {
            nic.address().ifPresent(address -> all.put(nic.name(), address));
        }
        return all;
    }
}
