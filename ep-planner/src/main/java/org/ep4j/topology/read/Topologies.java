package org.ep4j.topology.read;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;

/**
 * Reads descriptions of machines in all known formats. What a file holds is found by its content, never by its name:
 *
 * <ul>
 *   <li>topology files of NCCL and RCCL ({@code NCCL_TOPO_FILE}, {@code NCCL_TOPO_DUMP_FILE}),
 *   <li>XML of hwloc ({@code lstopo machine.xml}),
 *   <li>{@code nvidia-smi topo -m}, also as a table of Markdown,
 *   <li>{@code rocm-smi --showtopo},
 *   <li>{@code ibv_devinfo}, with {@code -v} or without,
 *   <li>a folder with a recording of {@code /sys}, and of {@code /proc} if there is one; or with the {@code topology}
 *       folder of AMD's KFD alone.
 * </ul>
 */
public final class Topologies {
    private static final String EXPECTED = "expected a topology file of NCCL or RCCL (XML with <system>), XML of hwloc "
            + "(with <topology>), or the output of \"nvidia-smi topo -m\", \"rocm-smi --showtopo\" or \"ibv_devinfo\"";

    private Topologies() {}

    /**
     * Reads a file or a folder.
     *
     * @throws TopologyException when it cannot be read or understood, with source, line and reason
     */
    public static Topology read(Path file) {
        String source = file.toString();
        if (!source.isEmpty() && Files.isDirectory(file)) {
            return read(source, FileTree.of(file));
        }
        return read(source, text(file));
    }

    /**
     * Reads a machine from its files of {@code /sys} and {@code /proc}, at the top of {@code files} or in folders of
     * it.
     *
     * @param source name of them for messages
     * @param files the files, at the top or in folders of it, as {@link #recording} finds them
     * @throws TopologyException when they are no recording of a machine, or beyond a limit
     */
    public static Topology read(String source, FileTree files) {
        return read(source, files, Map.of());
    }

    /**
     * As {@link #read(String, FileTree)}; {@code NCCL_TOPO_FILE} in {@code environment} may name one of the files to
     * read.
     *
     * @param environment variables of the process, of which {@code NCCL_TOPO_FILE} may name a file among the others
     */
    public static Topology read(String source, FileTree files, Map<String, String> environment) {
        return Plausible.of(Recordings.read(source, files, environment));
    }

    /**
     * Finds the machine in a recording, and returns its files as a tree that has {@code /sys} and {@code /proc} at its top. In
     * the recording they may be in folders, as archives have them, and beside other files.
     *
     * @param source name of the recording for messages
     * @param files the recording
     * @throws TopologyException when there is no machine in it, or several
     */
    public static FileTree recording(String source, FileTree files) {
        return Recordings.find(source, files);
    }

    private static String text(Path file) {
        String source = file.toString();
        if (source.isEmpty()) {
            throw new TopologyException(
                    "the name of the file that describes the machine is empty; name a file or a folder");
        }
        if (!Files.exists(file)) {
            throw Faults.in(source, "there is no such file or folder");
        }
        if (!Files.isRegularFile(file)) {
            throw Faults.in(source, "is neither a file nor a folder");
        }
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(Limits.TEXT + 1);
        } catch (IOException e) {
            throw new TopologyException(source + ": cannot be read: " + e, e);
        }
        if (bytes.length > Limits.TEXT) {
            throw Faults.in(source, "is larger than " + Limits.TEXT + " bytes; descriptions of machines are smaller");
        }
        if (bytes.length > 1 && bytes[0] == 0x1f && bytes[1] == (byte) 0x8b) {
            throw Faults.in(source, "is compressed by gzip; unpack it, and give the file or folder that was in it");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * Reads the text of a file.
     *
     * @param source name of the file for messages
     * @param text what is in it
     * @throws TopologyException when it cannot be understood, with source, line and reason
     */
    public static Topology read(String source, String text) {
        return Plausible.of(understood(source, text));
    }

    private static Topology understood(String source, String text) {
        String content = text.startsWith("\ufeff") ? text.substring(1) : text;
        if (content.isBlank()) {
            throw Faults.in(source, "is empty; " + EXPECTED);
        }
        if (content.stripLeading().startsWith("<")) {
            return xml(source, content);
        }
        content = TableText.clean(source, content);
        if (RocmSmiTopology.recognises(content)) {
            return RocmSmiTopology.read(source, content);
        }
        if (NvidiaSmiTopology.recognises(content)) {
            return NvidiaSmiTopology.read(source, content);
        }
        if (IbvDevinfo.recognises(content)) {
            return IbvDevinfo.read(source, content);
        }
        throw Faults.in(source, EXPECTED + "; the first line is " + firstLine(content));
    }

    private static Topology xml(String source, String content) {
        String name = firstElement(content);
        if (name.equals("system")) {
            return NcclTopology.read(source, content);
        }
        if (name.equals("topology")) {
            return HwlocTopology.read(source, content);
        }
        throw Faults.in(
                source,
                "it begins like XML, and its first element is " + Faults.quote(name) + "; " + EXPECTED
                        + "; the first line is " + firstLine(content));
    }

    /** Name of the first element; what comes before it are declarations and comments. Empty when there is none. */
    private static String firstElement(String content) {
        int at = 0;
        while (true) {
            at = content.indexOf('<', at);
            if (at < 0) {
                return "";
            }
            String end = content.startsWith("<?", at) ? "?>" : content.startsWith("<!--", at) ? "-->" : ">";
            int closed = content.indexOf(end, at);
            if (closed < 0) {
                return "";
            }
            if (!content.startsWith("<?", at) && !content.startsWith("<!", at)) {
                return content.substring(at + 1, closed).split("[\\s/]", 2)[0];
            }
            at = closed + end.length();
        }
    }

    private static String firstLine(String content) {
        return Faults.quote(content.stripLeading().lines().findFirst().orElse(""));
    }

    /**
     * Adds to a machine what {@code ibv_devinfo} reports about its NICs: ports, states, rates, GIDs. A device that the
     * machine lacks is added, and one that the text lacks is not used, both with a warning.
     *
     * @param machine the machine
     * @param source name of the text for messages
     * @param ibvDevinfoText output of {@code ibv_devinfo}, with {@code -v} or without
     * @throws TopologyException when the text cannot be understood, with source, line and reason
     */
    public static Topology merge(Topology machine, String source, String ibvDevinfoText) {
        return Plausible.of(IbvDevinfo.merge(machine, source, TableText.clean(source, ibvDevinfoText)));
    }

    /**
     * As {@link #merge(Topology, String, String)}, with the text from a file.
     *
     * @throws TopologyException when it cannot be read or understood, with source, line and reason
     */
    public static Topology merge(Topology machine, Path ibvDevinfo) {
        if (Files.isDirectory(ibvDevinfo) && !ibvDevinfo.toString().isEmpty()) {
            throw Faults.in(ibvDevinfo.toString(), "is a folder; name a file with the output of ibv_devinfo");
        }
        return merge(machine, ibvDevinfo.toString(), text(ibvDevinfo));
    }

    /**
     * The machine that this process runs on: what Linux shows of it, refined by every {@link TopologySource} that is
     * installed. Nothing of the machine is changed; what cannot be read is missing or a warning.
     */
    public static Topology live() {
        return Plausible.ofThisMachine(LiveTopology.read());
    }
}
