package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Printable;

/** GPUs among the PCI functions, found by class and vendor, in the order of their addresses. */
final class GpuPlaces {
    private static final String FOLDER = "/sys/bus/pci/devices/";
    private static final int DISPLAY = 0x03;
    private static final int ACCELERATOR = 0x12;

    private GpuPlaces() {}

    /**
     * A GPU on PCI.
     *
     * @param place where it is
     * @param id its ids
     */
    record Found(PciTree.Place place, PciId id) {
        GpuVendor vendor() {
            return GpuPlaces.vendor(id.vendor());
        }
    }

    /** Those of NVIDIA and of AMD. */
    static List<Found> find(SysFiles sys, PciTree pci) {
        TreeMap<PciAddress, Found> found = new TreeMap<>();
        for (String name : sys.tree().list(FOLDER)) {
            int kind = sys.number(FOLDER + name + "/class") >> 16;
            if ((kind == DISPLAY || kind == ACCELERATOR)
                    && vendor(sys.number(FOLDER + name + "/vendor")) != GpuVendor.OTHER) {
                pci.place(FOLDER + name)
                        .ifPresent(place -> place.address()
                                .ifPresent(address -> found.put(address, new Found(place, sys.id(place.device())))));
            }
        }
        return new ArrayList<>(found.values());
    }

    static GpuVendor vendor(int pci) {
        return switch (pci) {
            case 0x10de -> GpuVendor.NVIDIA;
            case 0x1002 -> GpuVendor.AMD;
            default -> GpuVendor.OTHER;
        };
    }

    /** The GPU as part of a machine. */
    static Gpu gpu(SysFiles sys, PciTree pci, Found found, int host, int index) {
        GpuVendor vendor = vendor(found.id().vendor());
        return new Gpu(
                host,
                index,
                "GPU" + index,
                found.place().address(),
                found.id(),
                vendor,
                "",
                vendor == GpuVendor.NVIDIA
                        ? nvidiaModel(sys, found.place())
                        : sys.text(found.place().device() + "/product_name"),
                pci.numa(found.place()),
                vendor == GpuVendor.NVIDIA ? NvidiaPeerMemory.of(sys.tree()).gpuDirect() : Optional.empty(),
                "");
    }

    private static String nvidiaModel(SysFiles sys, PciTree.Place place) {
        String file = "/proc/driver/nvidia/gpus/" + SysFiles.last(place.device()) + "/information";
        return sys.tree()
                .text(file)
                .orElse("")
                .lines()
                .filter(line -> line.startsWith("Model:"))
                .findFirst()
                .map(line -> Printable.of(line.substring("Model:".length()).strip()))
                .orElse("");
    }
}
