package org.ep4j.cli.topo;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;
import org.ep4j.topology.read.Topologies;

/** Reads the machine that a command is to show or plan for: this one, a file, or a packed recording. */
public final class MachineFile {
    private MachineFile() {}

    /**
     * Reads a machine.
     *
     * @param file what {@link Topologies} reads, or a {@code .tar.gz} of a folder that it reads; empty for this machine
     * @param ibvDevinfo output of {@code ibv_devinfo -v} to be merged onto it
     * @throws TopologyException when something cannot be read
     */
    public static Topology read(Optional<Path> file, Optional<Path> ibvDevinfo) {
        Topology machine = file.map(path -> packed(path)
                        ? Topologies.read(path.toString(), ArchiveReader.read(path))
                        : Topologies.read(path))
                .orElseGet(Topologies::live);
        return ibvDevinfo.map(text -> Topologies.merge(machine, text)).orElse(machine);
    }

    private static boolean packed(Path file) {
        if (!Files.isRegularFile(file)) {
            return false;
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] magic = in.readNBytes(2);
            return magic.length == 2 && (magic[0] & 0xff) == 0x1f && (magic[1] & 0xff) == 0x8b;
        } catch (IOException e) {
            throw new TopologyException("cannot read " + file + ": " + e + "; name a file that can be read", e);
        }
    }
}
