package org.ep4j.topology.read;

import java.util.List;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;

/** Folders that hold a recording of a machine. */
final class Recordings {
    /** Folders within each other that are looked into. */
    private static final int DEPTH = 4;

    /** Folders beside each other that are looked into. */
    private static final int WIDTH = 256;

    private static final int SHOWN = 8;

    private Recordings() {}

    /**
     * The only recording that is at the top of a tree, or on the first level below that has one: archives often hold everything
     * in one folder, beside a file that says what it is.
     */
    static Topology read(String source, FileTree tree) {
        List<String> level = List.of("");
        for (int depth = 0; depth < DEPTH && !level.isEmpty(); depth++) {
            List<String> found = level.stream()
                    .filter(folder -> recording(below(tree, folder)))
                    .toList();
            if (found.size() == 1) {
                return recorded(source, below(tree, found.get(0)));
            }
            if (!found.isEmpty()) {
                throw Faults.in(
                        source,
                        "holds " + found.size() + " recordings of machines, " + shown(found)
                                + "; name one of these folders");
            }
            level = level.stream()
                    .flatMap(folder -> tree.list(folder.isEmpty() ? "/" : folder).stream()
                            .limit(WIDTH)
                            .map(name -> folder + "/" + name))
                    .filter(folder -> !tree.list(folder).isEmpty())
                    .limit(WIDTH)
                    .toList();
        }
        throw Faults.in(
                source,
                "the folder holds no recording of a machine; expected a folder \"sys\" in it, or \"nodes\" of KFD "
                        + "(/sys/class/kfd/kfd/topology); there is " + shown(tree.list("/")));
    }

    private static FileTree below(FileTree tree, String folder) {
        return folder.isEmpty() ? tree : new SubTree(folder, tree);
    }

    private static boolean recording(FileTree tree) {
        return tree.exists("/sys") || kfd(tree);
    }

    private static Topology recorded(String source, FileTree tree) {
        return tree.exists("/sys")
                ? recorded(LinuxTopology.read(source, tree))
                : LinuxTopology.read(source, FileTree.under(KfdNodes.FOLDER, tree));
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
        return tree.list("/nodes").stream()
                .limit(WIDTH)
                .anyMatch(node -> tree.exists("/nodes/" + node + "/properties"));
    }

    private static String shown(List<String> names) {
        return names.isEmpty()
                ? "nothing"
                : Faults.quote(String.join(", ", names.subList(0, Math.min(names.size(), SHOWN))));
    }
}
