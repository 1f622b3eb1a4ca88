package org.ep4j.topology.read;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Topology;

/**
 * NVLink and xGMI of a hwloc topology, from the matrices that its NVML and RSMI backends add. Bandwidths there are in MB/s and
 * in one direction.
 */
final class HwlocGpuLinks {
    /** Of one NVLink from Volta to Hopper, as hwloc reports it; the count is worked out from it. */
    private static final double NVLINK = 25;

    /** GPUs of one hive; AMD joins 8, and 64 partitions of them. */
    private static final int HIVE = 64;

    private final HwlocFile file;
    private final Topology.Builder topology;
    private final Map<String, Gpu> gpus;
    private final GpuPackages packages;

    HwlocGpuLinks(HwlocFile file, Topology.Builder topology, Map<String, Gpu> gpus) {
        this.file = file;
        this.topology = topology;
        this.gpus = gpus;
        this.packages =
                new GpuPackages(topology, gpus.values().stream().distinct().toList());
    }

    /** What a matrix calls an object. */
    static String key(XmlElement object) {
        return HwlocFile.type(object) + ":" + object.value("gp_index");
    }

    void connect() {
        HwlocMatrix.named(file.root(), "NVLinkBandwidth").ifPresent(this::nvlink);
        Optional<HwlocMatrix> xgmi = HwlocMatrix.named(file.root(), "XGMIBandwidth");
        Optional<HwlocMatrix> hops = HwlocMatrix.named(file.root(), "XGMIHops");
        if (xgmi.isPresent()) {
            xgmi(xgmi.get(), hops);
        } else {
            hives();
        }
        packages.finish();
    }

    private void nvlink(HwlocMatrix matrix) {
        Set<String> switches = new HashSet<>();
        file.objects().stream().filter(file::nvswitch).forEach(object -> switches.add(key(object)));
        GpuSwitch shared = new GpuSwitch(0, "NVSwitch");
        List<String> objects = matrix.objects();
        for (int i = 0; i < objects.size(); i++) {
            Gpu gpu = gpus.get(objects.get(i));
            for (int j = 0; j < objects.size() && gpu != null; j++) {
                Gpu other = gpus.get(objects.get(j));
                double width = matrix.value(i, j) / 1000;
                if (width > 0 && switches.contains(objects.get(j))) {
                    topology.add(shared).link(gpu, shared, bundle(width));
                } else if (other != null && i < j && !other.equals(gpu)) {
                    double both = Math.max(width, matrix.value(j, i) / 1000);
                    if (both > 0) {
                        topology.link(gpu, other, bundle(both));
                    }
                }
            }
        }
    }

    private static Link bundle(double width) {
        return new Link(LinkType.NVLINK, width, (int) Math.max(1, Math.min(1024, Math.round(width / NVLINK))));
    }

    private void xgmi(HwlocMatrix matrix, Optional<HwlocMatrix> hops) {
        List<String> objects = matrix.objects();
        boolean routed = gpus.values().stream()
                        .distinct()
                        .filter(HwlocGpuLinks::hasFewLinks)
                        .count()
                > 2;
        boolean same = hops.filter(other -> other.objects().equals(objects)).isPresent();
        if (routed && matrix.values().stream().allMatch(width -> width > 0)) {
            topology.assume(
                    "every two GPUs are joined by xGMI links of their own, because the file gives 1 hop for them; hwloc"
                            + " gets the hops from ROCm SMI, which reports 1 for routed pairs too (the weights in a recording of /sys, or"
                            + " of rocm-smi --showtopo, show the difference)");
        }
        for (int i = 0; i < objects.size(); i++) {
            for (int j = i + 1; j < objects.size(); j++) {
                Gpu gpu = gpus.get(objects.get(i));
                Gpu other = gpus.get(objects.get(j));
                boolean neighbours = !same || hops.orElseThrow().value(i, j) == 1;
                double width = matrix.value(i, j) / 1000;
                if (gpu != null && other != null && !gpu.equals(other) && neighbours && width > 0) {
                    packages.join(gpu, other, new Link(LinkType.XGMI, width, 1));
                }
            }
        }
    }

    /** MI200 has links to some of the other GPUs; the newer ones are joined each to each. */
    private static boolean hasFewLinks(Gpu gpu) {
        return gpu.architecture().equals("gfx90a");
    }

    /** GPUs of one hive reach each other over xGMI. Without a matrix, neither neighbours nor bandwidths are known. */
    private void hives() {
        Map<String, Set<Gpu>> hives = new LinkedHashMap<>();
        for (XmlElement object : file.objects()) {
            Gpu gpu = gpus.get(key(object));
            if (gpu != null && !hive(object).isEmpty()) {
                hives.computeIfAbsent(hive(object), any -> new LinkedHashSet<>())
                        .add(gpu);
            }
        }
        hives.forEach((name, members) -> {
            if (members.size() > HIVE) {
                topology.warn("hive " + name + " has " + members.size() + " GPUs; no known hive has more than " + HIVE);
                return;
            }
            List<Gpu> all = List.copyOf(members);
            for (int i = 0; i < all.size(); i++) {
                for (int j = i + 1; j < all.size(); j++) {
                    packages.join(all.get(i), all.get(j), new Link(LinkType.XGMI, 0, 1));
                }
            }
        });
    }

    private static String hive(XmlElement device) {
        String hive = HwlocFile.info(device, "XGMIHiveID");
        return hive.equals("0") ? "" : hive;
    }
}
