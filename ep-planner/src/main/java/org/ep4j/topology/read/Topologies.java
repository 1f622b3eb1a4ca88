package org.ep4j.topology.read;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.ep4j.topology.GpuVendor;
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

    /** Folders in folders that a recording may be in. */
    private static final int DEPTH = 4;

    /** Folders that are looked into; a folder with more is no recording. */
    private static final int FOLDERS = 256;

    /** Entries of folders, besides files that describe all of them. */
    private static final Map<String, Integer> MOST = Map.of(
            KfdNode.FOLDER + "/nodes",
            Limits.GPUS + Limits.NUMA_NODES,
            "/sys/class/infiniband",
            Limits.NICS,
            "/sys/class/net",
            2 * Limits.NICS,
            "/sys/bus/pci/devices",
            8 * Limits.NICS,
            "/sys/devices/system/node",
            2 * Limits.NUMA_NODES);

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
        FileTree machine = recording(source, files);
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
        return SanityCheck.of(
                nvidia < 2
                        ? topology
                        : topology.withWarnings(
                                List.of(
                                        "/sys does not describe NVLink; in this topology, NVIDIA GPUs are joined by PCIe only")));
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
                return tree.exists("/sys") ? tree : RebasedTree.under(KfdNode.FOLDER, tree);
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
        return SanityCheck.of(understood(source, text));
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
        return SanityCheck.of(IbvDevinfo.merge(machine, source, TableText.clean(source, ibvDevinfoText)));
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
        Topology topology = LinuxTopology.read("this machine", FileTree.of(Path.of("/")), System.getenv());
        Map<String, TopologySource> sources = new TreeMap<>();
        List<String> broken = new ArrayList<>();
        collect(ServiceLoader.load(TopologySource.class, TopologySource.class.getClassLoader()), sources, broken);
        collect(ServiceLoader.load(TopologySource.class), sources, broken);
        for (TopologySource source : sources.values()) {
            topology = refine(topology, source);
        }
        return SanityCheck.ofThisMachine(topology.withWarnings(broken));
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

    /** Asks a source, and keeps what was known when it fails against its contract. */
    static Topology refine(Topology topology, TopologySource source) {
        try {
            return source.refine(topology);
        } catch (RuntimeException | LinkageError e) {
            return topology.withWarnings(List.of("topology source " + source.id() + " failed: " + e));
        }
    }

    private static void collect(
            ServiceLoader<TopologySource> loader, Map<String, TopologySource> sources, List<String> broken) {
        Iterator<TopologySource> found = loader.iterator();
        while (true) {
            try {
                if (!found.hasNext()) {
                    return;
                }
                TopologySource source = found.next();
                sources.putIfAbsent(source.id(), source);
            } catch (ServiceConfigurationError | LinkageError e) {
                broken.add("a topology source could not be loaded: " + e.getMessage());
            }
        }
    }
}
