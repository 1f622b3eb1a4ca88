package org.ep4j.engine.gpu;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Rails;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.PeerGroup;
import org.ep4j.plan.RankGroup;

/**
 * How GPUs write each other in a plan: by stores, by kernels that post, or by threads of the host that post. The kind of path is a
 * property of a pair and a direction. Immutable; the same on all ranks.
 */
public final class PostedPaths {
    private final EpPlan plan;

    /** Ranks that take part in windows that kernels post from. */
    private final Set<Integer> deviceWindows = new TreeSet<>();

    /** Ranks at an end of a path that threads of the host post to. */
    private final Set<Integer> hostPosting = new TreeSet<>();

    /** Channels of each direction that the rank with the most needs in one window. */
    private final int channels;

    /** Most {@link #givers} of a rank. */
    private final int oneWay;

    private PostedPaths(EpPlan plan) {
        this.plan = plan;
        int most = 0;
        int giving = 0;
        // One rank of each group of like ranks is looked at: every pair would be O(ranks^2).
        for (RankGroup alike : plan.rankGroups()) {
            int rank = alike.example();
            int hosts = count(alike, peer -> kind(rank, peer) == PathKind.HOST_POSTED);
            int hostsBack = count(alike, peer -> kind(peer, rank) == PathKind.HOST_POSTED);
            if (hosts + hostsBack > 0) {
                hostPosting.addAll(alike.ranks());
            }
            int kernels = count(alike, peer -> kind(rank, peer) == PathKind.DEVICE_POSTED);
            int kernelsBack = count(alike, peer -> kind(peer, rank) == PathKind.DEVICE_POSTED);
            most = IntStream.of(most, hosts, hostsBack, kernels, kernelsBack)
                    .max()
                    .orElse(0);
            giving = Math.max(giving, count(alike, peer -> isGiver(peer, rank)));
        }
        channels = most;
        oneWay = giving;
        plan.groups().stream()
                .map(group -> group.example())
                .filter(path -> path.offer().kind() == PathKind.DEVICE_POSTED)
                .map(path -> path.backend())
                .distinct()
                .forEach(backend -> deviceWindows.addAll(plan.ranksUsing(backend)));
    }

    private static int count(RankGroup alike, IntPredicate wanted) {
        return alike.peers().stream()
                .filter(peers -> wanted.test(peers.example()))
                .mapToInt(PeerGroup::peers)
                .sum();
    }

    /** The paths of a plan. */
    public static PostedPaths of(EpPlan plan) {
        return new PostedPaths(plan);
    }

    private PathKind kind(int from, int to) {
        return from == to ? PathKind.LOCAL : plan.offer(from, to).kind();
    }

    /** True when some rank posts. */
    public boolean any() {
        return channels > 0;
    }

    /** True when kernels have to look up how a peer is reached: some post in both ways, or a pair maps in one direction only. */
    boolean mixed() {
        return oneWay > 0 || (!hostPosting.isEmpty() && !deviceWindows.isEmpty());
    }

    boolean isPosted(int from, int to) {
        return isPosted(kind(from, to));
    }

    private static boolean isPosted(PathKind kind) {
        return kind == PathKind.HOST_POSTED || kind == PathKind.DEVICE_POSTED;
    }

    boolean isByDevice(int from, int to) {
        return kind(from, to) == PathKind.DEVICE_POSTED;
    }

    /** Ranks that {@code rank} posts to by paths of a kind, ascending: those of its channels to peers. */
    List<Integer> to(int rank, PathKind kind) {
        return peers(peer -> kind(rank, peer) == kind);
    }

    /** Ranks that post to {@code rank} by paths of a kind, ascending: those of its channels from peers. */
    List<Integer> from(int rank, PathKind kind) {
        return peers(peer -> kind(peer, rank) == kind);
    }

    /** Ranks that {@code rank} posts to, and that map its memory: they put rows of its tokens there, which it cannot read in theirs. */
    List<Integer> givers(int rank) {
        return peers(peer -> isGiver(peer, rank));
    }

    private boolean isGiver(int giver, int rank) {
        return isPosted(rank, giver) && kind(giver, rank) == PathKind.MAPPED;
    }

    /** By peer: the place of {@code rank} in the peer's {@link #from}; -1 for peers that it does not post to by such a path. */
    int[] placesAmongSources(int rank, PathKind kind) {
        return places(rank, (from, to) -> kind(from, to) == kind);
    }

    /** By peer: the place of {@code rank} in the peer's {@link #givers}; -1 for peers that it is no giver of. */
    int[] placesAmongGivers(int rank) {
        return places(rank, this::isGiver);
    }

    /** A relation of two ranks, which the kinds of their paths decide. */
    @FunctionalInterface
    private interface Relation {
        boolean holds(int from, int to);
    }

    private int[] places(int rank, Relation relation) {
        int[] below = new int[plan.ranks()];
        Arrays.fill(below, 0, rank, 1);
        int[] places = new int[plan.ranks()];
        for (RankGroup alike : plan.rankGroups(below)) {
            int place = count(alike, peer -> peer < rank && relation.holds(peer, alike.example()));
            alike.ranks().forEach(peer -> places[peer] = relation.holds(rank, peer) ? place : -1);
        }
        return places;
    }

    /** The index of each rank in a list of ranks; -1 for those that are not in it. */
    int[] indexes(List<Integer> listed) {
        int[] indexes = new int[plan.ranks()];
        Arrays.fill(indexes, -1);
        for (int i = 0; i < listed.size(); i++) {
            indexes[listed.get(i)] = i;
        }
        return indexes;
    }

    private List<Integer> peers(IntPredicate wanted) {
        return IntStream.range(0, plan.ranks()).filter(wanted).boxed().toList();
    }

    /** True when a rank exchanges by a window that a backend allocates: its kernels post, or its peers' do. */
    public boolean hasDeviceWindow(int rank) {
        return deviceWindows.contains(rank);
    }

    /** True when a rank exchanges by a window that threads of the host post from. */
    public boolean hasHostWindow(int rank) {
        return mixed() ? hostPosting.contains(rank) : any() && !hasDeviceWindow(rank);
    }

    /** The layout of all windows, the same on all ranks; empty where all GPUs map each other's memory. */
    public Optional<WindowLayout> layout(EpShape shape, Rails rails) {
        return any() ? Optional.of(new WindowLayout(shape, plan.ranks(), channels, rails.passes())) : Optional.empty();
    }

    /** Bytes of symmetric memory, behind all else, in which {@link #givers} put rows; the same on all ranks. */
    public long givenBytes(WindowLayout layout) {
        return oneWay * layout.givenBytes();
    }

    /** Bytes of the windows of a rank. */
    public long windowBytes(int rank, WindowLayout layout) {
        return (hasHostWindow(rank) ? layout.bytes() : 0) + (hasDeviceWindow(rank) ? layout.bytes() : 0);
    }
}
