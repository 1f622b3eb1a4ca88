package org.ep4j.backend.ibrc;

import java.nio.file.Path;
import org.ep4j.topology.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;
import org.ep4j.topology.read.NvidiaPeerMemory;

/** This machine, as far as NICs are concerned. */
final class Machine {
    private Machine() {}

    /** Its NICs as they are now. The libraries of GPUs, which take time to find, have nothing to say about them. */
    static Topology nics() {
        return LinuxTopology.read("this machine", FileTree.of(Path.of("/")));
    }

    /** How its kernel knows memory of NVIDIA's GPUs. */
    static NvidiaPeerMemory peerMemory() {
        return NvidiaPeerMemory.of(FileTree.of(Path.of("/")));
    }
}
