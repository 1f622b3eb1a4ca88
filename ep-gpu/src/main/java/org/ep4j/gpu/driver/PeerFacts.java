package org.ep4j.gpu.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.transport.Collective;

/**
 * What ranks tell each other about their GPUs, as facts of a backend that maps the memory of GPUs. GPUs go by their places on
 * PCI, which are the same for all processes and containers of a host; numbers of GPUs are not.
 *
 * @param backend id of the backend
 */
public record PeerFacts(String backend) {
    /** Place of the rank's GPU. */
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

    /** A fact; empty when the rank did not report it. */
    public String fact(RankProfile rank, String name) {
        return rank.facts(backend).getOrDefault(name, "");
    }

    /** True when both ranks have an identity of that name, and the same. */
    private boolean same(RankProfile a, RankProfile b, String name) {
        Map<String, String> mine = a.identity(backend);
        Map<String, String> theirs = b.identity(backend);
        return mine.containsKey(name) && mine.get(name).equals(theirs.get(name));
    }

    /** True for threads of one process. */
    private boolean sameProcess(RankProfile a, RankProfile b) {
        return a.hostId().equals(b.hostId()) && same(a, b, PROCESS);
    }

    /** True when a fact that lists GPUs has one. */
    public boolean lists(RankProfile rank, String name, String gpu) {
        return List.of(fact(rank, name).split(",", -1)).contains(gpu);
    }

    /** Index that a GPU has in the topology as the rank sees it; -1 when that does not tell, empty when it may not use it. */
    Optional<Integer> index(RankProfile rank, String gpu) {
        // Searched as it is: planning asks for each pair of GPUs of a host.
        String all = fact(rank, GPUS);
        String wanted = "=" + gpu;
        for (int at = all.indexOf(wanted); at >= 0; at = all.indexOf(wanted, at + 1)) {
            int end = at + wanted.length();
            if (end == all.length() || all.charAt(end) == ',') {
                return Optional.of(number(all.substring(all.lastIndexOf(',', at) + 1, at)));
            }
        }
        return Optional.empty();
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** The other way round: {@link #GPUS} from indexes and places. */
    public static String gpus(Map<String, Integer> indexes) {
        List<String> entries = new ArrayList<>();
        indexes.forEach((gpu, index) -> entries.add(index + "=" + gpu));
        return String.join(",", entries);
    }

    /** What stands against sharing memory between the processes of two ranks of a host; nothing for threads of one process. */
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

    /** The way between two GPUs of a host as the machine's topology has it; empty where that does not tell. */
    public Optional<GpuPath> described(RankProfile from, RankProfile to) {
        // Each rank numbers the GPUs that it sees, so the peer's own number may mean another one here.
        int index = index(from, fact(to, GPU)).orElse(-1);
        if (index < 0) {
            return Optional.empty();
        }
        boolean same = index == to.locality().gpu();
        return GpuPaths.between(
                from,
                same ? to : to.toBuilder().locality(at(to.locality(), index)).build());
    }

    /** The same place under another number, whose card is that number, too. */
    private static Locality at(Locality locality, int gpu) {
        return locality.toBuilder().gpu(gpu).card(gpu).build();
    }

    /**
     * {@link #GPUS} on a described machine, where every rank may use every GPU: descriptions number GPUs in one way for all
     * ranks, so numbers stand for places. Numbers may have gaps.
     */
    static String describedGpus(Locality around) {
        Map<String, Integer> indexes = new TreeMap<>();
        indexes.put(describedGpu(around.gpu()), around.gpu());
        around.peers().forEach(peer -> indexes.put(describedGpu(peer.gpu()), peer.gpu()));
        return gpus(indexes);
    }

    /** Place of a GPU on a described machine. */
    static String describedGpu(int index) {
        return "#" + index;
    }

    /** The nearest kind of memory that serves all peers of a rank: a plain allocation wherever no other host maps it. */
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
}
