package org.ep4j.doctor;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;

/**
 * Everything that the doctor examines.
 *
 * @param topology the machine
 * @param files its {@code /sys}, {@code /proc}, {@code /dev} and libraries
 * @param environment variables of the process
 * @param config settings of the process
 * @param nics NIC ports that each local GPU uses, by the GPU's index, as {@code name:port}; empty when nothing is assigned
 * @param libraries libraries that were found
 * @param need memory that ranks of this host will want
 * @param room room in the folder where ranks of this host put the files that they share; empty for a recording
 * @param keys every setting that ep4j and its backends have
 * @param nvshmemHome absolute path of the installation or the library of NVSHMEM that a setting names; empty where none does
 */
public record DoctorInput(
        Topology topology,
        FileTree files,
        Map<String, String> environment,
        EpConfig config,
        Map<Integer, List<String>> nics,
        List<FoundLibrary> libraries,
        Need need,
        Optional<Room> room,
        List<ConfigKey<?>> keys,
        Optional<Path> nvshmemHome) {
    public DoctorInput {
        environment = Map.copyOf(environment);
        nics = Map.copyOf(nics);
        libraries = List.copyOf(libraries);
        keys = List.copyOf(keys);
    }

    /**
     * Shared memory that the ranks of this host will need.
     *
     * @param ranks ranks on this host
     * @param bytesPerRank bytes of symmetric memory of each
     */
    public record Need(int ranks, long bytesPerRank) {
        /** The lock that shows that a rank lives, its buffer, and the words by which ranks agree on the membership. */
        private static final int FILES_PER_RANK = 3;

        /** Bytes of all ranks together. */
        public long bytes() {
            return ranks * bytesPerRank;
        }

        /** Number of files of all ranks, plus one for the barrier before measurements. */
        public long files() {
            return (long) ranks * FILES_PER_RANK + 1;
        }
    }

    /**
     * Free space in a folder of the running machine.
     *
     * @param folder the folder
     * @param bytes size of its file system in bytes; 0 where it sets no limit
     * @param free bytes that files may still take there
     * @param freeFiles files that may still be made there; {@link Long#MAX_VALUE} where nothing limits them
     */
    public record Room(String folder, long bytes, long free, long freeFiles) {
        /** Returns true if the free space is enough for the bytes of {@code need}. */
        public boolean holdsBytesOf(Need need) {
            return bytes == 0 || need.bytesPerRank() <= free / need.ranks();
        }

        /** Returns true if the folder has room for the number of files of {@code need}. */
        public boolean holdsFilesOf(Need need) {
            return need.files() <= freeFiles;
        }
    }

    /** NICs with RDMA that carry traffic of applications of this network namespace. */
    List<Nic> rdmaNics() {
        return topology.nics().stream()
                .filter(nic -> nic.compute() && nic.family().rdma() && !topology.isForeign(nic, gidIndex()))
                .toList();
    }

    /** Entry of the tables of GIDs that a setting names; -1 for none. */
    int gidIndex() {
        return setting(EpKeys.NIC_GID_INDEX).orElse(-1);
    }

    /**
     * NICs with RDMA that carry the exchanges, so that what manages the machine or serves its storage is left out of their
     * checks.
     *
     * <p>These are the NICs that are assigned to GPUs, with NICs of the same model that are as near as the nearest of some
     * GPU: a plan leaves those out only because something is wrong with them. Where nothing is assigned they are the NICs
     * that are as near as the nearest of some GPU, and without GPUs all of them. How wide the way to a NIC is does not
     * count: one whose port is slower than others, or whose PCIe link has lost lanes, is what the checks are to find.
     */
    List<Nic> trafficNics() {
        List<Nic> all = rdmaNics();
        Collection<Set<String>> names = PlacementChecks.assigned(this).values();
        List<Nic> assigned = all.stream()
                .filter(nic -> names.stream().anyMatch(own -> own.contains(nic.name())))
                .toList();
        Set<Nic> near = near();
        if (assigned.isEmpty()) {
            return near.isEmpty() ? all : all.stream().filter(near::contains).toList();
        }
        return all.stream()
                .filter(nic -> assigned.contains(nic)
                        || (near.contains(nic) && assigned.stream().anyMatch(other -> sameModel(nic, other))))
                .toList();
    }

    private static boolean sameModel(Nic a, Nic b) {
        return a.family() == b.family() && a.id().vendor() == b.id().vendor() && a.id().device() == b.id().device();
    }

    private Set<Nic> near() {
        Set<Nic> near = new HashSet<>();
        for (Gpu gpu : topology.gpus()) {
            Map<Part, Distance> reach = topology.distances(gpu);
            SortedMap<PathType, List<Nic>> byType = new TreeMap<>();
            for (Nic nic : rdmaNics()) {
                Distance distance = reach.get(nic);
                if (distance != null && nic.host() == gpu.host()) {
                    byType.computeIfAbsent(distance.type(), type -> new ArrayList<>())
                            .add(nic);
                }
            }
            byType.values().stream().limit(1).forEach(near::addAll);
        }
        return near;
    }

    boolean has(NicFamily family) {
        return rdmaNics().stream().anyMatch(nic -> nic.family() == family);
    }

    List<Gpu> gpus(GpuVendor vendor) {
        return topology.gpus().stream().filter(gpu -> gpu.vendor() == vendor).toList();
    }

    String variable(String name) {
        return environment.getOrDefault(name, "").strip();
    }

    /** The value of a setting; empty when it cannot be read, which {@link DoctorCode#SETTINGS} reports. */
    <T> Optional<T> setting(ConfigKey<T> key) {
        try {
            return Optional.of(key.get(config));
        } catch (EpConfigException e) {
            return Optional.empty();
        }
    }

    /** Returns true for a recording without libraries. */
    boolean withoutLibraries() {
        return LibraryFolders.existing(files, environment).isEmpty();
    }

    List<FoundLibrary> found(KnownLibrary library) {
        return libraries.stream().filter(one -> one.library() == library).toList();
    }
}
