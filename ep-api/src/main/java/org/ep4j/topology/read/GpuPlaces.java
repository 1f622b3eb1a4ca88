package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Topology;

/** GPUs among the PCI functions, found by class and vendor, in the order of their addresses. */
final class GpuPlaces {
    private static final String FOLDER = "/sys/bus/pci/devices/";
    private static final String NVIDIA = "/proc/driver/nvidia/gpus";
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

    /**
     * Finds those of NVIDIA and of AMD whose driver is bound to them. A GPU that is passed through to a virtual machine, or kept for a
     * driver that is not there, is on PCI like any other.
     *
     * @param builder gets a warning for each that is left out
     */
    static List<Found> find(SysFiles sys, PciTree pci, Topology.Builder builder) {
        List<Found> usable = new ArrayList<>();
        List<Found> all = all(sys, pci);
        boolean drivers =
                all.stream().anyMatch(gpu -> !sys.driver(gpu.place().device()).isEmpty()) || anyDriver(sys);
        for (Found gpu : all) {
            Optional<String> obstacle = obstacle(sys, gpu, drivers);
            obstacle.ifPresent(why -> builder.warn("the GPU at "
                    + SysFiles.last(gpu.place().device()) + " (" + gpu.vendor() + ", device "
                    + String.format(Locale.ROOT, "0x%04x", gpu.id().device()) + ") cannot be used and is left out: "
                    + why));
            if (obstacle.isEmpty()) {
                usable.add(gpu);
            }
        }
        return usable;
    }

    /** What keeps processes from a GPU; empty when nothing is known against it. */
    private static Optional<String> obstacle(SysFiles sys, Found gpu, boolean drivers) {
        String wanted = gpu.vendor() == GpuVendor.NVIDIA ? "nvidia" : "amdgpu";
        String driver = sys.driver(gpu.place().device());
        if (driver.isEmpty()) {
            return drivers
                    ? Optional.of("no driver is bound to it; load " + wanted + " (see dmesg), or leave it to others")
                    : Optional.empty();
        }
        if (!driver.equals(wanted)) {
            return Optional.of("its driver is " + driver + ", not " + wanted + "; bind it to " + wanted
                    + " to use it, or leave it to others");
        }
        List<String> known = gpu.vendor() == GpuVendor.NVIDIA ? sys.tree().list(NVIDIA) : List.of();
        return known.isEmpty() || known.contains(SysFiles.last(gpu.place().device()))
                ? Optional.empty()
                : Optional.of(
                        "it is not in " + NVIDIA + ": outside of this container, or its driver gave it up (see dmesg)");
    }

    /** True for files that tell of drivers; recordings may leave the links out. */
    private static boolean anyDriver(SysFiles sys) {
        return sys.tree().list(FOLDER).stream()
                .anyMatch(name -> !sys.driver(FOLDER + name).isEmpty());
    }

    private static List<Found> all(SysFiles sys, PciTree pci) {
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
        String file = NVIDIA + "/" + SysFiles.last(place.device()) + "/information";
        return sys.text(file)
                .lines()
                .filter(line -> line.startsWith("Model:"))
                .findFirst()
                .map(line -> line.substring("Model:".length()).strip())
                .orElse("");
    }
}
