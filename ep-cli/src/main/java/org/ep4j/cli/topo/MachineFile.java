package org.ep4j.cli.topo;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;
import org.ep4j.topology.TopologyException;
import org.ep4j.topology.read.Topologies;

/** Where a machine is read from: this one, a file, or a packed recording. */
public final class MachineFile {
    private static final int MOST_TEXT = 16 << 20;

    private MachineFile() {}

    /**
     * Reads a machine.
     *
     * @param file what {@link Topologies} reads, or a {@code .tar.gz} of a folder that it reads; empty for this machine
     * @param ibvDevinfo output of {@code ibv_devinfo -v} to be merged onto it
     * @throws TopologyException when something cannot be read
     */
    public static Topology read(Optional<Path> file, Optional<Path> ibvDevinfo) {
        Topology machine = file.map(MachineFile::one).orElseGet(Topologies::live);
        return ibvDevinfo
                .map(text -> Topologies.merge(machine, text.toString(), text(text)))
                .orElse(machine);
    }

    private static Topology one(Path file) {
        if (!packed(file)) {
            return Topologies.read(file);
        }
        try (RecordedTree tree = RecordedTree.unpack(file)) {
            Topology machine = Topologies.read(tree.top());
            return TopologyCopy.of(machine, file.toString(), part -> part).build();
        }
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

    private static String text(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MOST_TEXT + 1);
            if (bytes.length > MOST_TEXT) {
                throw new TopologyException(file + " is larger than " + MOST_TEXT
                        + " bytes, which no output of ibv_devinfo is; name the right file");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new TopologyException("cannot read " + file + ": " + e + "; name a file that can be read", e);
        }
    }
}
