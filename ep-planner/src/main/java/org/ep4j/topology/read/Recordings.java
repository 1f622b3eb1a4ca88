package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyCopy;

/** Recordings of machines: files of {@code /sys} and {@code /proc}, or of AMD's KFD alone. */
final class Recordings {
    /** Folders in folders that a recording may be in. */
    private static final int DEPTH = 4;

    /** Folders that are looked into; a folder with more is no recording. */
    private static final int FOLDERS = 256;

    /** Entries of folders, besides files that describe all of them. */
    private static final Map<String, Integer> MOST = Map.of(
            KfdNodes.FOLDER + "/nodes",
            Limits.GPUS + Limits.NUMA_NODES,
            "/sys/class/infiniband",
            Limits.NICS,
            "/sys/class/net",
            2 * Limits.NICS,
            "/sys/bus/pci/devices",
            8 * Limits.NICS,
            "/sys/devices/system/node",
            2 * Limits.NUMA_NODES);

    private Recordings() {}

    /** @param environment variables of a process of that machine, which may name its provider's tree */
    static Topology read(String source, FileTree files, Map<String, String> environment) {
        FileTree machine = find(source, files);
        MOST.forEach((folder, most) -> {
            int entries = machine.list(folder).size();
            if (entries > most) {
                throw Faults.in(source, folder + " has " + entries + " entries; at most " + most + " are read");
            }
        });
        Topology topology = LinuxTopology.read(source, machine, environment);
        long nvidia = topology.gpus().stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.NVIDIA)
                .count();
        // NVLinks are no part of a recording, which a reader of the result should know.
        return nvidia < 2
                ? topology
                : TopologyCopy.of(topology, topology.source(), part -> part)
                        .warn("/sys does not describe NVLink; in this topology, NVIDIA GPUs are joined by PCIe only")
                        .build();
    }

    /** The machine that is nearest to the top. */
    static FileTree find(String source, FileTree files) {
        List<String> folders = List.of("");
        int looked = 0;
        for (int depth = 0; depth < DEPTH; depth++) {
            List<String> found =
                    folders.stream().filter(folder -> machine(files, folder)).toList();
            if (found.size() > 1) {
                throw Faults.in(source, "there are several recordings of machines, in " + shown(found) + "; name one");
            }
            if (!found.isEmpty()) {
                FileTree tree = found.get(0).isEmpty() ? files : RebasedTree.of(found.get(0), files);
                return tree.exists("/sys") ? tree : FileTree.under(KfdNodes.FOLDER, tree);
            }
            List<String> next = new ArrayList<>();
            for (String folder : folders) {
                for (String name : files.list(folder.isEmpty() ? "/" : folder)) {
                    String path = folder + "/" + name;
                    // A link to another folder would be a second machine.
                    boolean own = files.real(path).filter(path::equals).isPresent();
                    if (own && looked < FOLDERS && !files.list(path).isEmpty()) {
                        next.add(path);
                        looked++;
                    }
                }
            }
            folders = next;
        }
        throw Faults.in(
                source,
                "the folder holds no recording of a machine; expected a folder \"sys\" in it, or \"nodes\" of KFD "
                        + "(/sys/class/kfd/kfd/topology); there is " + shown(files.list("/")));
    }

    private static boolean machine(FileTree files, String folder) {
        return files.exists(folder + "/sys")
                || files.list(folder + "/nodes").stream()
                        .anyMatch(node -> files.exists(folder + "/nodes/" + node + "/properties"));
    }

    private static String shown(List<String> names) {
        return names.isEmpty()
                ? "nothing"
                : Faults.quote(String.join(", ", names.subList(0, Math.min(names.size(), 8))));
    }
}
