package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuArchitectures;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/** GPUs among the PCI functions, found by class and vendor, in the order of their addresses. */
final class PciGpus {
    private static final String FOLDER = "/sys/bus/pci/devices/";
    private static final String NVIDIA = "/proc/driver/nvidia/gpus";
    private static final int DISPLAY = 0x03;
    private static final int ACCELERATOR = 0x12;

    private PciGpus() {}

    record Found(PciTree.Place place, PciId id) {
        GpuVendor vendor() {
            return GpuArchitectures.vendor(id.vendor());
        }
    }

    /**
     * Finds the GPUs of NVIDIA and AMD with their driver, and warns of each other one. A GPU that is passed through to
     * a virtual machine, or kept for a driver that is not there, is on PCI like any other.
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
        List<Found> hidden = hidden(sys, usable);
        if (!hidden.isEmpty()) {
            builder.warn("NVIDIA's driver does not show this process the GPUs at "
                    + hidden.stream()
                            .map(gpu -> SysFiles.last(gpu.place().device()))
                            .collect(Collectors.joining(", "))
                    + " (" + NVIDIA
                    + "); they are left out, because they are outside of this container or the driver has lost them"
                    + " (see dmesg)");
            usable.removeAll(hidden);
        }
        return usable;
    }

    /** Returns the obstacle to using a GPU; empty when none is known. */
    private static Optional<String> obstacle(SysFiles sys, Found gpu, boolean drivers) {
        String wanted = gpu.vendor() == GpuVendor.NVIDIA ? "nvidia" : "amdgpu";
        String driver = sys.driver(gpu.place().device());
        if (driver.isEmpty()) {
            return drivers
                    ? Optional.of("no driver is bound to it; load " + wanted
                            + " (see dmesg), unless other software uses the GPU")
                    : Optional.empty();
        }
        if (!driver.equals(wanted)) {
            return Optional.of("its driver is " + driver + ", not " + wanted + "; bind it to " + wanted
                    + " to use it, unless other software uses the GPU");
        }
        return Optional.empty();
    }

    /**
     * GPUs that NVIDIA's driver does not show to this process: containers are given some, and a GPU that fails is given
     * up. Empty when the driver's list is not there, or has another format.
     */
    private static List<Found> hidden(SysFiles sys, List<Found> all) {
        Set<PciAddress> known = sys.tree().list(NVIDIA).stream()
                .flatMap(name -> PciAddress.parse(name).stream())
                .collect(Collectors.toSet());
        return all.stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.NVIDIA && !known.isEmpty())
                .filter(gpu -> gpu.place().address().filter(known::contains).isEmpty())
                .toList();
    }

    /** Returns true if any PCI device has a driver; recordings may leave the links out. */
    private static boolean anyDriver(SysFiles sys) {
        return sys.tree().list(FOLDER).stream()
                .anyMatch(name -> !sys.driver(FOLDER + name).isEmpty());
    }

    /** Makers of the GPUs on PCI, with drivers or without. */
    static Set<GpuVendor> vendors(FileTree files) {
        SysFiles sys = new SysFiles(files);
        return files.list(FOLDER).stream()
                .filter(name -> isGpu(sys, name))
                .map(name -> GpuArchitectures.vendor(sys.number(FOLDER + name + "/vendor")))
                .collect(Collectors.toSet());
    }

    private static boolean isGpu(SysFiles sys, String name) {
        int kind = sys.number(FOLDER + name + "/class") >> 16;
        return (kind == DISPLAY || kind == ACCELERATOR)
                && GpuArchitectures.vendor(sys.number(FOLDER + name + "/vendor")) != GpuVendor.OTHER;
    }

    private static List<Found> all(SysFiles sys, PciTree pci) {
        TreeMap<PciAddress, Found> found = new TreeMap<>();
        for (String name : sys.tree().list(FOLDER)) {
            if (isGpu(sys, name)) {
                pci.place(FOLDER + name)
                        .ifPresent(place -> place.address()
                                .ifPresent(address -> found.put(address, new Found(place, sys.id(place.device())))));
            }
        }
        return new ArrayList<>(found.values());
    }

    static Gpu gpu(SysFiles sys, PciTree pci, Found found, int host, int index) {
        Gpu.Builder gpu = Gpu.builder(host, index, found.vendor())
                .address(found.place().address())
                .id(found.id())
                .numa(pci.numa(found.place()));
        return found.vendor() == GpuVendor.NVIDIA
                ? gpu.model(nvidiaModel(sys, found.place()))
                        .gpuDirect(NvidiaPeerMemory.of(sys.tree()).gpuDirect())
                        .build()
                : gpu.model(sys.text(found.place().device() + "/product_name")).build();
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
