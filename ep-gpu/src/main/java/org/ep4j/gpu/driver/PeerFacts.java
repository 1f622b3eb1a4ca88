package org.ep4j.gpu.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.read.FileTree;
import org.ep4j.transport.Collective;

/**
 * Facts about GPUs that ranks exchange, of a backend that maps memory of GPUs. GPUs are named by their PCI
 * addresses, which are the same for all processes and containers of a host; numbers of GPUs are not.
 *
 * @param backend id of the backend
 */
public record PeerFacts(String backend) {
    /** PCI address of the rank's GPU. */
    public static final String GPU = "gpu";

    /** GPUs that the rank's process may use: {@code 0=0000:18:00.0,...}. */
    public static final String GPUS = "gpus";

    /** GPUs to which the driver denies the rank's GPU access. */
    public static final String DENIED = "denied";

    /** Whether memory can be shared with other processes. */
    public static final String INTERPROCESS = "interprocess";

    /** Architecture of the GPU, {@code sm_90} or {@code gfx942}. */
    public static final String ARCHITECTURE = "architecture";

    /** Identity: the process; ranks with the same one use addresses. */
    public static final String PROCESS = "process";

    /** Identity: effective user id. */
    public static final String USER = "user";

    /** Identity: PID namespace. */
    public static final String PIDS = "pid-namespace";

    public static final String YES = "yes";

    public static final String NO = "no";

    /** Returns a fact; empty if the rank did not report it. */
    public String fact(RankProfile rank, String name) {
        return rank.facts(backend).getOrDefault(name, "");
    }

    private boolean same(RankProfile a, RankProfile b, String name) {
        Map<String, String> mine = a.identity(backend);
        Map<String, String> theirs = b.identity(backend);
        return mine.containsKey(name) && mine.get(name).equals(theirs.get(name));
    }

    private boolean sameProcess(RankProfile a, RankProfile b) {
        return a.hostId().equals(b.hostId()) && same(a, b, PROCESS);
    }

    /** Returns whether a fact that lists GPUs contains one. */
    public boolean lists(RankProfile rank, String name, String gpu) {
        return List.of(fact(rank, name).split(",", -1)).contains(gpu);
    }

    /** Index of a GPU in the topology of a rank; -1 if it is unknown, empty if the rank may not use the GPU. */
    Optional<Integer> index(RankProfile rank, String gpu) {
        // Not parsed: planning calls this for each pair of GPUs of a host.
        String all = fact(rank, GPUS);
        String wanted = "=" + gpu;
        for (int at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, at + 1)) {
            int end = at + wanted.length();
            if (end == all.length() || all.charAt(end) == ',') {
                String number = all.substring(all.lastIndexOf(',', at) + 1, at);
                return Optional.of(number.matches("\\d{1,9}") ? Integer.parseInt(number) : -1);
            }
        }
        return Optional.empty();
    }

    /** Formats {@link #GPUS}. */
    public static String gpus(Map<String, Integer> indexes) {
        List<String> entries = new ArrayList<>();
        indexes.forEach((gpu, index) -> entries.add(index + "=" + gpu));
        return String.join(",", entries);
    }

    /** Finds an obstacle to sharing memory between the processes of two ranks of a host; none for threads of one process. */
    Optional<Offer> processes(RankProfile from, RankProfile to) {
        if (sameProcess(from, to)) {
            return Optional.empty();
        }
        if (!same(from, to, PIDS)) {
            return Optional.of(Offer.none(
                    "the ranks are in different PID namespaces, and a process cannot open GPU memory of a process in"
                            + " another namespace",
                    "run the ranks of a host in one container, or their containers with --pid=host --ipc=host"));
        }
        if (!same(from, to, USER)) {
            return Optional.of(Offer.none(
                    "the ranks run as different users, and a process cannot open GPU memory of another user's process",
                    "run all ranks of a machine as the same user"));
        }
        for (RankProfile rank : List.of(from, to)) {
            if (!fact(rank, INTERPROCESS).equals(YES)) {
                return Optional.of(Offer.none(
                        "memory of the GPU at " + fact(rank, GPU) + " cannot be shared between processes",
                        "run the ranks as threads of one process"));
            }
        }
        return Optional.empty();
    }

    /** Finds the path between two GPUs of a host in the machine's topology; empty if it is unknown. */
    public Optional<GpuPath> described(RankProfile from, RankProfile to) {
        // Each rank numbers the GPUs that it sees, so the peer's number may mean another GPU here.
        int index = index(from, fact(to, GPU)).orElse(-1);
        if (index < 0) {
            return Optional.empty();
        }
        boolean same = index == to.locality().gpu();
        return GpuPath.between(
                from,
                same ? to : to.toBuilder().locality(at(to.locality(), index)).build());
    }

    /** Returns the same locality with another number, for the GPU and for its card. */
    private static Locality at(Locality locality, int gpu) {
        return locality.toBuilder().gpu(gpu).card(gpu).build();
    }

    /**
     * Formats {@link #GPUS} for a described machine, where every rank may use every GPU: descriptions have one numbering for all
     * ranks, so numbers stand for addresses. Numbers may have gaps.
     */
    static String describedGpus(Locality around) {
        Map<String, Integer> indexes = new TreeMap<>();
        indexes.put(describedGpu(around.gpu()), around.gpu());
        around.peers().forEach(peer -> indexes.put(describedGpu(peer.gpu()), peer.gpu()));
        return gpus(indexes);
    }

    /** Name of a GPU of a described machine. */
    static String describedGpu(int index) {
        return "#" + index;
    }

    /** Finds the kind of memory that serves all peers of a rank: a plain allocation if no other host maps it. */
    MemoryHandle.Kind kind(OpenContext context, Collective collective) {
        RankProfile mine = context.profiles().get(context.rank());
        MemoryHandle.Kind kind = MemoryHandle.Kind.PROCESS;
        for (int other : collective.ranks()) {
            RankProfile peer = context.profiles().get(other);
            if (collective.connects(other, context.rank()) && !peer.hostId().equals(mine.hostId())) {
                return MemoryHandle.Kind.FABRIC;
            }
            if (collective.connects(other, context.rank()) && !sameProcess(mine, peer)) {
                kind = MemoryHandle.Kind.IPC;
            }
        }
        return kind;
    }

    /**
     * Identity of a process, which decides whether CUDA or HIP lets two processes of a host open each other's memory.
     *
     * @param process names the process among all of the host
     * @param user effective user id; empty when unknown
     * @param pids PID namespace; empty when unknown
     * @param ipc IPC namespace; empty when unknown
     */
    public record ProcessFacts(String process, String user, String pids, String ipc) {
        public static ProcessFacts of(FileTree files) {
            return new ProcessFacts(
                    GpuSharing.process(),
                    effectiveUser(files.text("/proc/self/status").orElse("")),
                    GpuSharing.namespace("pid"),
                    GpuSharing.namespace("ipc"));
        }

        /** The second number of the line {@code Uid:}. */
        static String effectiveUser(String status) {
            return status.lines()
                    .filter(line -> line.startsWith("Uid:"))
                    .map(line -> line.substring(4).strip().split("\\s+", -1))
                    .filter(numbers -> numbers.length > 1)
                    .map(numbers -> numbers[1])
                    .findFirst()
                    .orElse("");
        }
    }
}
