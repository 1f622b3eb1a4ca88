package org.ep4j.plan;

import com.google.common.collect.ContiguousSet;
import com.google.common.collect.Lists;
import com.google.common.primitives.Ints;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.plan.Decision.Rejection;
import org.ep4j.plan.Decision.Rejection.Cause;
import org.ep4j.plan.NicAssignment.Share;
import org.ep4j.plan.PairKinds.Kind;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.NicReach;

/**
 * A plan with what it was computed from: profiles, options, offers. Holds one decision for each kind of pairs and makes an
 * {@link EpPath} when asked, so that plans of thousands of ranks stay small. Immutable.
 */
public final class GroupPlan implements EpPlan {
    private final List<RankProfile> profiles;
    private final PlanOptions options;
    private final PairKinds kinds;
    /** By kind of pair. */
    private final List<Decision> decisions;
    /** NIC ports by rank, then by backend, sorted. */
    private final List<SortedMap<String, Share>> shares;
    /** By rank: index of its host. */
    private final int[] hosts;

    /** True for a plan that was not computed. */
    private final boolean given;
    /** Sentences of this rank about its plan, for people. */
    private final List<String> notes;

    /** Kinds of pairs whose memory is mapped. */
    private final BitSet mapped = new BitSet();

    /**
     * Pairs of ranks whose paths are alike: the same backend, kind, estimates, lanes and reasons. Their NICs may
     * differ.
     *
     * @param example one of the paths
     * @param pairs how many there are
     */
    public record PairGroup(EpPath example, long pairs) {}

    GroupPlan(
            List<RankProfile> profiles,
            PlanOptions options,
            PairKinds kinds,
            List<Decision> decisions,
            List<SortedMap<String, Share>> shares,
            boolean given) {
        this(profiles, options, kinds, decisions, shares, given, List.of());
    }

    private GroupPlan(
            List<RankProfile> profiles,
            PlanOptions options,
            PairKinds kinds,
            List<Decision> decisions,
            List<SortedMap<String, Share>> shares,
            boolean given,
            List<String> notes) {
        this.profiles = List.copyOf(profiles);
        this.options = options;
        this.kinds = kinds;
        this.decisions = List.copyOf(decisions);
        this.shares = List.copyOf(shares);
        this.given = given;
        this.notes = List.copyOf(notes);
        Map<String, Integer> seen = new HashMap<>();
        this.hosts = profiles.stream()
                .mapToInt(profile -> seen.computeIfAbsent(profile.hostId(), k -> seen.size()))
                .toArray();
        for (int kind = 0; kind < decisions.size(); kind++) {
            mapped.set(kind, decisions.get(kind).offer().kind() == EpPath.Kind.MAPPED);
        }
    }

    /**
     * Creates a plan from given paths instead of computing them, for tests and tools. The {@link Offer#flow} and
     * {@link Offer#sharers} of an offer are not part of its path: in a given plan they are empty and 1.
     *
     * @param profiles what the ranks reported, in rank order
     * @param paths path from rank {@code i} to rank {@code j} at index {@code i * ranks + j}; a rank's paths over one
     *     backend have equal NICs, and those between different ranks have estimates above 0
     * @throws IllegalArgumentException when sizes, order, NICs or estimates do not fit
     */
    public static GroupPlan of(List<RankProfile> profiles, List<EpPath> paths) {
        int ranks = profiles.size();
        if (paths.size() != ranks * ranks) {
            throw new IllegalArgumentException(ranks + " ranks need " + ranks * ranks + " paths, got " + paths.size());
        }
        checkOrder(profiles);
        for (int i = 0; i < paths.size(); i++) {
            if (paths.get(i).from() != i / ranks || paths.get(i).to() != i % ranks) {
                throw new IllegalArgumentException("path " + i + " leads from "
                        + paths.get(i).from() + " to " + paths.get(i).to() + ", must lead from " + i / ranks + " to "
                        + i % ranks);
            }
        }
        PairKinds kinds = PairKinds.of(RankClasses.separate(ranks));
        List<Decision> decisions = new ArrayList<>();
        List<SortedMap<String, Share>> shares = new ArrayList<>();
        profiles.forEach(profile -> shares.add(new TreeMap<>()));
        for (Kind kind : kinds.kinds()) {
            EpPath path = paths.get(kind.from() * ranks + kind.to());
            decisions.add(decision(path));
            if (!path.nics().isEmpty()) {
                Share share = new Share(path.nics(), "given");
                Share before = shares.get(path.from()).putIfAbsent(path.backend(), share);
                if (before != null && !before.equals(share)) {
                    throw new IllegalArgumentException("rank " + path.from() + " has NICs " + share.ports() + " and "
                            + before.ports() + " for " + path.backend() + ", must be the same to all ranks");
                }
            }
        }
        return new GroupPlan(profiles, PlanOptions.AUTO, kinds, decisions, shares, true);
    }

    /** Refuses profiles that are not in rank order. */
    static void checkOrder(List<RankProfile> profiles) {
        for (int i = 0; i < profiles.size(); i++) {
            if (profiles.get(i).rank() != i) {
                throw new IllegalArgumentException("profile " + i + " belongs to rank "
                        + profiles.get(i).rank() + "; the profiles must be in rank order");
            }
        }
    }

    private static Decision decision(EpPath path) {
        if (!(path.gigabytesPerSecond() > 0) || !(path.latencyMicros() > 0)) {
            throw new IllegalArgumentException("the path from " + path.from() + " to " + path.to() + " is estimated at "
                    + path.gigabytesPerSecond() + " GB/s and " + path.latencyMicros()
                    + " us, must be above 0; give estimates for every path between different ranks");
        }
        List<Rejection> rejected = path.rejected().stream()
                .map(text -> {
                    int colon = text.indexOf(": ");
                    return colon < 0
                            ? new Rejection(text, Cause.TEXT, "")
                            : new Rejection(text.substring(0, colon), Cause.TEXT, text.substring(colon + 2));
                })
                .toList();
        Offer offer = Offer.path(path.kind())
                .gigabytesPerSecond(path.gigabytesPerSecond())
                .latencyMicros(path.latencyMicros())
                .nics(path.offeredNics())
                .staged(path.staged())
                .build();
        return new Decision(path.backend(), offer, rejected, path.lanes());
    }

    /**
     * The given plan with what it was computed from, for engines, backends and tools that need more than {@link EpPlan}
     * has.
     *
     * @param plan of a group, or of {@link Planner}
     * @throws EpArgumentException when something else made it
     */
    public static GroupPlan of(EpPlan plan) {
        if (plan instanceof GroupPlan own) {
            return own;
        }
        throw new EpArgumentException(
                "plan",
                "of class " + plan.getClass().getName(),
                "of class " + GroupPlan.class.getName(),
                "pass EpGroup.plan() or a plan of " + Planner.class.getName());
    }

    /**
     * Returns a copy with other notes: sentences of this rank for people, which {@link #explain} and {@link #summary} print at
     * their end, each on its line. Plans with different notes are equal.
     */
    public GroupPlan withNotes(List<String> newNotes) {
        return new GroupPlan(profiles, options, kinds, decisions, shares, given, newNotes);
    }

    /** Notes of this rank; empty unless {@link #withNotes} has set them. */
    public List<String> notes() {
        return notes;
    }

    /** Profiles that the ranks reported, in rank order. */
    public List<RankProfile> profiles() {
        return profiles;
    }

    /** Inputs of planning other than the profiles. */
    public PlanOptions options() {
        return options;
    }

    @Override
    public int ranks() {
        return profiles.size();
    }

    @Override
    public EpPath path(int from, int to) {
        Decision decision = decision(from, to);
        Offer offer = decision.offer();
        List<String> nics = nics(from, decision);
        return EpPath.builder(from, to, decision.backend(), offer.kind())
                .nics(nics)
                .offeredNics(offer.nics())
                .lanes(lanes(decision, nics, from, to))
                .staged(offer.staged())
                .gigabytesPerSecond(offer.gigabytesPerSecond())
                .latencyMicros(offer.latencyMicros())
                // As text only when it is read: plans have many paths, and few are read.
                .lazilyRejected(
                        Lists.transform(decision.rejected(), why -> why.describe(profiles.get(from), profiles.get(to))))
                .build();
    }

    /** The offer behind the {@link #path} between two ranks. */
    public Offer offer(int from, int to) {
        return decision(from, to).offer();
    }

    /** The kind of the {@link #path} between two ranks. */
    public EpPath.Kind pathKind(int from, int to) {
        return decision(from, to).offer().kind();
    }

    /** The backend of the {@link #path} between two ranks. */
    public String backend(int from, int to) {
        return decision(from, to).backend();
    }

    /** Ranks whose memory a rank maps, ascending, without the rank itself. Found when asked for. */
    public List<Integer> mappedPeers(int rank) {
        return Collections.unmodifiableList(Ints.asList(kinds.peers(rank, mapped)));
    }

    /**
     * Finds a NIC over which a rank posts and that is too far from its GPU for GPUDirect RDMA; the first where there are
     * several.
     */
    public Optional<NicReach> farNic(int rank) {
        Map<String, NicReach> far = new HashMap<>();
        profiles.get(rank).locality().nics().stream()
                .filter(nic -> !nic.distance().type().gpuDirect())
                .forEach(nic -> far.putIfAbsent(nic.name(), nic));
        Set<Integer> seen = new HashSet<>();
        return IntStream.range(0, far.isEmpty() ? 0 : ranks())
                .filter(peer -> peer != rank && seen.add(kind(rank, peer)))
                .mapToObj(peer -> offer(rank, peer))
                .filter(offer -> offer.kind() != EpPath.Kind.MAPPED)
                .flatMap(offer -> offer.nics().stream())
                .flatMap(port -> Optional.ofNullable(far.get(port.split(":", 2)[0])).stream())
                .findFirst();
    }

    /**
     * Groups the peers of each rank: the peers of a group have the same label, and this plan treats them alike.
     *
     * @param labels by rank: peers with different labels are not put together
     * @throws IllegalArgumentException when there are not as many labels as ranks
     */
    public PeerGroups peerGroups(int[] labels) {
        if (labels.length != ranks()) {
            throw new IllegalArgumentException("labels has length " + labels.length + ", must be " + ranks()
                    + ", the number of ranks; give one label for each rank");
        }
        return kinds.peerGroups(labels);
    }

    /**
     * The lowest rank of each set of ranks that have the same kinds of paths to and from other ranks: what is true of
     * the paths of the lowest rank is true of the paths of its whole set. Few where ranks are many, but all ranks of a
     * plan that was given ({@link #of}).
     */
    public List<Integer> exampleRanks() {
        return kinds.exampleRanks();
    }

    /** Returns true if some rank has the hardware that a backend is for, or the settings name the backend. */
    public boolean applies(String backend) {
        return options.backends().names(backend)
                || profiles.stream()
                        .anyMatch(profile -> profile.backend(backend)
                                .filter(RankProfile.BackendProfile::notApplicable)
                                .isEmpty());
    }

    /** Returns true if a backend connects some ranks by a kind of path. */
    public boolean uses(String backend, EpPath.Kind kind) {
        return decisions.stream()
                .anyMatch(decision ->
                        decision.backend().equals(backend) && decision.offer().kind() == kind);
    }

    /** The kinds of the paths from a rank to others. */
    public Set<EpPath.Kind> pathKinds(int rank) {
        Set<EpPath.Kind> found = EnumSet.noneOf(EpPath.Kind.class);
        for (int kind : kinds.role(rank).from()) {
            found.add(decisions.get(kind).offer().kind());
        }
        return found;
    }

    /**
     * Backends by which a rank maps memory of others, or by which others map its memory. The engine can use only one.
     */
    public Set<String> mappedBy(int rank) {
        PairKinds.Role role = kinds.role(rank);
        return IntStream.concat(Arrays.stream(role.from()), Arrays.stream(role.to()))
                .filter(mapped::get)
                .mapToObj(decisions::get)
                .map(Decision::backend)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /**
     * One example path for each {@linkplain #kind kind} of rank pair: the path of its first pair, in the order of the writing
     * rank, then of the peer.
     */
    public List<EpPath> examples() {
        return kindsInOrder().stream()
                .map(kind -> kinds.kinds().get(kind))
                .map(pairs -> path(pairs.from(), pairs.to()))
                .toList();
    }

    /**
     * Index of the kind of a pair of different ranks; pairs of the same kind share backend, offer and rejection
     * reasons, and may differ in NICs.
     */
    public int kind(int from, int to) {
        return kinds.index(from, to);
    }

    /** Path from rank {@code i} to rank {@code j} at index {@code i * ranks + j}; each path is created on access. */
    public List<EpPath> paths() {
        int all = Math.multiplyExact(ranks(), ranks());
        return Lists.transform(
                ContiguousSet.closedOpen(0, all).asList(), index -> path(index / ranks(), index % ranks()));
    }

    @Override
    public List<String> nics(int rank) {
        return shares.get(rank).values().stream()
                .flatMap(share -> share.ports().stream())
                .distinct()
                .toList();
    }

    /** Reason why a rank was assigned its {@link #nics}; empty when it has none. */
    public String nicReason(int rank) {
        return shares.get(rank).values().stream().map(Share::reason).distinct().collect(Collectors.joining("; "));
    }

    /**
     * Number of proxy threads that post for a GPU rank; 0 if none of its paths is {@link EpPath.Kind#HOST_POSTED}, and 0
     * for a rank on the host device, which posts from its own threads.
     */
    public int proxies(int rank) {
        RankProfile profile = profiles.get(rank);
        boolean posted = Arrays.stream(kinds.role(rank).from())
                .anyMatch(kind -> decisions.get(kind).offer().kind() == EpPath.Kind.HOST_POSTED);
        return posted && profile.device().isGpu()
                ? PostingCounts.proxies(
                        options.proxies(),
                        profile.locality().architecture(),
                        profile.locality().processors())
                : 0;
    }

    /** Ranks that share the operating system of {@code rank}, including {@code rank}, ascending. */
    public List<Integer> hostRanks(int rank) {
        return IntStream.range(0, ranks())
                .filter(other -> hosts[other] == hosts[rank])
                .boxed()
                .toList();
    }

    @Override
    public int host(int rank) {
        return hosts[rank];
    }

    @Override
    public List<Integer> ranksUsing(String backend) {
        Set<PairKinds.Role> users = kinds.roles().stream()
                .filter(role -> uses(role.from(), backend) || uses(role.to(), backend))
                .collect(Collectors.toSet());
        return IntStream.range(0, ranks())
                .filter(rank -> users.contains(kinds.role(rank)))
                .boxed()
                .toList();
    }

    private boolean uses(int[] kindsOfRole, String backend) {
        return Arrays.stream(kindsOfRole)
                .anyMatch(kind -> decisions.get(kind).backend().equals(backend));
    }

    @Override
    public List<String> backends() {
        TreeSet<String> ids = new TreeSet<>();
        decisions.forEach(decision -> ids.add(decision.backend()));
        return List.copyOf(ids);
    }

    /** Pairs of different ranks, grouped by equal paths; groups are in the order of their first pairs. */
    public List<PairGroup> groups() {
        Map<Decision, PairGroup> groups = new LinkedHashMap<>();
        for (int kind : kindsInOrder()) {
            Kind pairs = kinds.kinds().get(kind);
            PairGroup group = new PairGroup(path(pairs.from(), pairs.to()), pairs.pairs());
            groups.merge(
                    decisions.get(kind).withoutNics(),
                    group,
                    (a, b) -> new PairGroup(a.example(), a.pairs() + b.pairs()));
        }
        return List.copyOf(groups.values());
    }

    /** Returns true if some rank reaches some peers by loads and stores, and other peers over NICs. */
    public boolean hybrid() {
        return kinds.roles().stream()
                .map(PairKinds.Role::from)
                .anyMatch(from ->
                        Arrays.stream(from).anyMatch(kind -> decisions.get(kind).posted())
                                && Arrays.stream(from).anyMatch(mapped::get));
    }

    @Override
    public String explain() {
        return new PlanText(this, true).text();
    }

    /** Returns the plan as {@link #explain} does, but leaves out backends whose hardware no rank has, unless the settings name them. */
    public String summary() {
        return new PlanText(this, false).text();
    }

    Decision decision(int from, int to) {
        return from == to ? Decision.LOCAL : decisions.get(kinds.index(from, to));
    }

    List<Decision> decisions() {
        return decisions;
    }

    PairKinds kinds() {
        return kinds;
    }

    /** Kinds of pairs, in the order of their first pairs. */
    List<Integer> kindsInOrder() {
        return IntStream.range(0, decisions.size())
                .boxed()
                .sorted(Comparator.comparing(kinds.kinds()::get, Kind.ORDER))
                .toList();
    }

    private List<String> nics(int rank, Decision decision) {
        List<String> offered = decision.offer().nics();
        Share share = shares.get(rank).getOrDefault(decision.backend(), Share.NONE);
        if (offered.containsAll(share.ports())) {
            return share.ports();
        }
        // Where paths of one backend have no port in common, each takes what it has of the assigned ones.
        List<String> common = share.ports().stream().filter(offered::contains).toList();
        return common.isEmpty() && !offered.isEmpty() ? offered.subList(0, 1) : common;
    }

    private int lanes(Decision decision, List<String> nics, int from, int to) {
        if (decision.lanes() > 0 || !decision.posted()) {
            return Math.max(1, decision.lanes());
        }
        int back = nics(to, decision(to, from)).size();
        int ports = Math.max(1, Math.max(nics.size(), back));
        return PostingCounts.lanes(options.lanes(), options.objective(), ports, ranks());
    }

    /**
     * Returns true for a plan of the same ranks with the same options, paths and NICs, if both plans were computed or
     * both were created from given paths. Notes are not compared.
     */
    @Override
    public boolean equals(Object other) {
        return other instanceof GroupPlan plan
                && given == plan.given
                && profiles.equals(plan.profiles)
                && options.equals(plan.options)
                && decisions.equals(plan.decisions)
                && shares.equals(plan.shares);
    }

    @Override
    public int hashCode() {
        return 31 * profiles.hashCode() + decisions.hashCode();
    }

    /** A short text; {@link #explain} says more. */
    @Override
    public String toString() {
        return "plan of " + ranks() + " ranks over "
                + (backends().isEmpty() ? "nothing" : String.join(", ", backends()));
    }
}
