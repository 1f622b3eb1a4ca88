package org.ep4j.backend.rocm;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.spi.Check;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.KfdNode;

/** AMD's compute driver KFD, as this process sees it: its devices, GPUs, hives and partitions. */
final class KfdView {
    private static final String DEVICE = "/dev/kfd";

    private final FileTree files;
    private final Predicate<String> opens;
    private final List<KfdNode> gpus;

    /**
     * Creates a view.
     *
     * @param files {@code /sys}, {@code /dev} and {@code /proc}
     * @param opens true for files that this process may read and write
     */
    KfdView(FileTree files, Predicate<String> opens) {
        this.files = files;
        this.opens = opens;
        this.gpus = KfdNode.readAll(files).values().stream()
                .filter(KfdNode::gpu)
                .sorted(Comparator.comparingInt(KfdNode::number))
                .toList();
    }

    /** Number of GPUs, partitions counted one by one, that the kernel shows to this process. */
    int gpus() {
        return gpus.size();
    }

    /** Returns true if a GPU at an address, or a partition of it, belongs to a hive: a group joined by xGMI. */
    boolean inHive(PciAddress address) {
        return gpus.stream()
                .anyMatch(gpu -> gpu.get("hive_id") != 0
                        && gpu.address().map(PciAddress::card).equals(Optional.of(address.card())));
    }

    /** Checks whether the driver is loaded and may be used. HIP decides in the end: there are machines without KFD that have HIP. */
    Check driver(String code) {
        if (!files.exists(DEVICE)) {
            return Check.warn(
                    code,
                    "there is no " + DEVICE
                            + ": the driver amdgpu is not loaded, or the container was started without the device",
                    "modprobe amdgpu; give containers --device /dev/kfd --device /dev/dri");
        }
        if (!opens.test(DEVICE)) {
            return Check.fail(
                    code,
                    DEVICE + " cannot be read and written by this user",
                    "add the user to the group of " + DEVICE + " (render, on older systems video) and log in again;"
                            + " containers: --group-add with that group's number");
        }
        List<String> closed = gpus.stream()
                .filter(gpu -> gpu.get("drm_render_minor") > 0)
                .map(gpu -> "/dev/dri/renderD" + gpu.get("drm_render_minor"))
                .filter(node -> !opens.test(node))
                .toList();
        String found = driver() + ", " + gpus.size() + " GPUs";
        return closed.isEmpty()
                ? Check.pass(code, found + ", " + DEVICE + " and all render nodes can be opened")
                : Check.warn(
                        code,
                        found + "; this user cannot read and write " + String.join(", ", closed),
                        "add the user to the group render; give containers --device /dev/dri");
    }

    private String driver() {
        return files.text("/sys/module/amdgpu/version")
                .map(version -> "amdgpu " + version)
                .orElse("amdgpu of Linux "
                        + files.text("/proc/sys/kernel/osrelease").orElse("unknown"));
    }

    /** {@code 64 GPUs: 8 in 8 partitions each (CPX, NPS4), 1 XCD each; 1 hive of 64}; empty when there are none. */
    String describe() {
        if (gpus.isEmpty()) {
            return "";
        }
        List<String> parts = new ArrayList<>();
        partitions().ifPresent(parts::add);
        String xcds = numbers(gpus.stream().map(gpu -> gpu.get("num_xcc")).filter(count -> count > 0));
        if (!xcds.isEmpty()) {
            parts.add(xcds + " XCDs each");
        }
        Map<Long, Long> hives = gpus.stream()
                .map(gpu -> gpu.get("hive_id"))
                .filter(hive -> hive != 0)
                .collect(Collectors.groupingBy(hive -> hive, LinkedHashMap::new, Collectors.counting()));
        parts.add(
                hives.isEmpty()
                        ? "no hive"
                        : hives.size()
                                + (hives.size() == 1 ? " hive of " : " hives of ")
                                + numbers(hives.values().stream()));
        return gpus.size() + " GPUs: " + String.join(", ", parts);
    }

    /** Describes GPUs that are divided into partitions. */
    private Optional<String> partitions() {
        Map<PciAddress, Long> cards = gpus.stream()
                .flatMap(gpu -> gpu.address().stream())
                .collect(Collectors.groupingBy(PciAddress::card, TreeMap::new, Collectors.counting()));
        long divided = cards.values().stream().filter(count -> count > 1).count();
        if (divided == 0) {
            return Optional.empty();
        }
        TreeSet<String> modes = new TreeSet<>();
        cards.keySet().forEach(card -> {
            String folder = "/sys/bus/pci/devices/" + card;
            files.text(folder + "/current_compute_partition").ifPresent(modes::add);
            files.text(folder + "/current_memory_partition").ifPresent(modes::add);
        });
        String each = numbers(cards.values().stream().filter(count -> count > 1));
        return Optional.of("partitions of " + divided + " devices, " + each + " each"
                + (modes.isEmpty() ? "" : " (" + String.join(", ", modes) + ")"));
    }

    private static String numbers(Stream<Long> values) {
        return values.distinct().sorted().map(String::valueOf).collect(Collectors.joining(" or "));
    }
}
