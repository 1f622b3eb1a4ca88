package org.ep4j.topology.read;

import java.nio.file.Path;
import java.util.List;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;

/** Folders that hold a recording of a machine. */
final class Recordings {
    private static final int DEPTH = 4;

    private Recordings() {}

    static Topology read(String source, Path folder) {
        FileTree tree = FileTree.of(folder);
        for (int depth = 0; depth < DEPTH; depth++) {
            if (tree.exists("/sys")) {
                return recorded(LinuxTopology.read(source, tree));
            }
            if (kfd(tree)) {
                return LinuxTopology.read(source, FileTree.under(KfdNodes.FOLDER, tree));
            }
            List<String> entries = tree.list("/");
            if (entries.size() != 1) {
                break;
            }
            // Archives often hold everything in one folder.
            tree = new SubTree("/" + entries.get(0), tree);
        }
        throw Faults.in(
                source,
                "the folder holds no recording of a machine; expected a folder \"sys\" in it, or \"nodes\" of KFD "
                        + "(/sys/class/kfd/kfd/topology); there is "
                        + shown(FileTree.of(folder).list("/")));
    }

    /** NVLinks are no part of a recording, which a reader of the result should know. */
    private static Topology recorded(Topology topology) {
        long nvidia = topology.gpus().stream()
                .filter(gpu -> gpu.vendor() == GpuVendor.NVIDIA)
                .count();
        return nvidia < 2
                ? topology
                : TopologyCopy.of(topology, topology.source(), part -> part)
                        .warn("/sys does not tell of NVLink; GPUs of NVIDIA are joined by PCIe only here")
                        .build();
    }

    private static boolean kfd(FileTree tree) {
        return tree.list("/nodes").stream().anyMatch(node -> tree.exists("/nodes/" + node + "/properties"));
    }

    private static String shown(List<String> names) {
        return names.isEmpty()
                ? "nothing"
                : Faults.quote(String.join(", ", names.subList(0, Math.min(names.size(), 8))));
    }
}
