package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Chooser.Offers;
import org.ep4j.plan.Chooser.Scored;
import org.ep4j.plan.PairKinds.Kind;
import org.ep4j.spi.RankProfile;

/**
 * Takes an offer for each kind of pairs, so that the engine can use all of them together: two GPUs reach each other by the
 * same kind of path in both directions, one backend allocates all memory of a rank that its peers map, and NICs over which host
 * threads post for a GPU reach its memory if its kernels post, too. Where the best offers do not fit together, this takes the
 * offers that cost least for all pairs.
 */
final class JointChoice {
    private static final String SAME_KIND = "two GPUs must use the same kind of path in both directions, and ";
    private static final String ONE_BACKEND = "all peers of a rank must map its memory through the same backend, and ";
    private static final String REACHED =
            "a GPU cannot combine device-posted paths with host-posted paths over NICs that do not reach its memory, and ";
    private static final String BEST = "the paths chosen are the best for all pairs together";

    private final List<RankProfile> profiles;
    private final PairKinds kinds;
    private final Chooser chooser;
    /** By kind of pair. */
    private final List<Offers> offers;
    /** By backend: classes of ranks whose memory its NICs reach, since some path from or to them is not staged. */
    private final Map<String, Set<Integer>> reached = new HashMap<>();
    /** Classes of GPUs whose memory NICs must not use, because of {@link EpKeys#GPU_WINDOW}. */
    private final Set<Integer> pinned = new HashSet<>();

    JointChoice(List<RankProfile> profiles, PairKinds kinds, Chooser chooser, List<Offers> offers) {
        this.profiles = profiles;
        this.kinds = kinds;
        this.chooser = chooser;
        this.offers = offers;
        for (int kind = 0; kind < offers.size(); kind++) {
            if (isPinned(profiles.get(kinds.kinds().get(kind).from()))) {
                pinned.add(from(kind));
            }
            for (Scored one : offers.get(kind).scored()) {
                if (one.offer().kind() == EpPath.Kind.HOST_POSTED
                        && !one.offer().staged()) {
                    reached.computeIfAbsent(one.id(), k -> new HashSet<>()).addAll(List.of(from(kind), to(kind)));
                }
            }
        }
    }

    private static boolean isPinned(RankProfile profile) {
        String window = profile.settings().getOrDefault(EpKeys.GPU_WINDOW.name(), "auto");
        // NICs use the memory of AMD GPUs only on request.
        return window.equals("host")
                || (window.equals("auto") && profile.device().type().equals("hip"));
    }

    /** Values by which offers are compared, added up over pairs. */
    private record Cost(long last, long preference, long staged, double micros) {
        static final Cost NONE = new Cost(0, 0, 0, 0);

        /** As offers for one pair are compared: a detour is taken only where there is no other path. */
        static final Comparator<Cost> OF_PAIR = Comparator.comparingLong(Cost::last)
                .thenComparingLong(Cost::preference)
                .thenComparingLong(Cost::staged)
                .thenComparingDouble(Cost::micros);

        /** Between paths of many pairs: detours count as what they take. */
        static final Comparator<Cost> OF_ALL = Comparator.comparingLong(Cost::last)
                .thenComparingLong(Cost::preference)
                .thenComparingDouble(Cost::micros)
                .thenComparingLong(Cost::staged);

        Cost and(Cost other) {
            return new Cost(
                    last + other.last, preference + other.preference, staged + other.staged, micros + other.micros);
        }
    }

    /** Offers by kind of pair. */
    private record Part(Map<Integer, Scored> taken, Cost cost) {}

    /** An offer with the cost of both directions. */
    private record Both(Scored there, Cost cost) {}

    /**
     * Offers that fit together, by kind of pair.
     *
     * @param allowed offers among which they were chosen
     * @param best what would be taken, if any backends could map the memory of a rank
     */
    private record Fit(BiPredicate<Integer, Scored> allowed, List<Scored> best, List<Scored> taken) {}

    /**
     * Decides for each kind of pair.
     *
     * @throws EpUnavailableException where no offers fit together; names the pairs
     */
    List<Decision> decide() {
        try {
            Fit fit = fit((kind, one) -> true, SAME_KIND + "no kind of path");
            return unreached(fit.taken()).isEmpty() ? decisions(fit, BEST) : limited(fit);
        } catch (EpUnavailableException e) {
            throw new EpUnavailableException(
                    e.getMessage() + "; add a backend that connects these pairs, or leave out some of these ranks", e);
        }
    }

    private Fit fit(BiPredicate<Integer, Scored> allowed, String missing) {
        List<Integer> all = IntStream.range(0, offers.size()).boxed().toList();
        List<Scored> best = part(all, allowed)
                .map(part -> List.copyOf(part.taken().values()))
                .orElseThrow(() -> new EpUnavailableException(missing + " connects " + missed(all, allowed)));
        List<Scored> taken = new ArrayList<>(best);
        Set<Integer> conflicts = conflicts(best);
        parts(best).stream()
                .filter(part -> !Collections.disjoint(part, conflicts))
                .forEach(part -> mappedByOne(part, allowed).taken().forEach(taken::set));
        return new Fit(allowed, best, taken);
    }

    /** Leaves out paths of GPUs that kernels and host threads cannot both post for: those of the kernels, or of the threads. */
    private List<Decision> limited(Fit unlimited) {
        List<Fit> fits = new ArrayList<>();
        List<String> reasons = new ArrayList<>();
        for (EpPath.Kind posted : List.of(EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED)) {
            try {
                fits.add(without(posted, unlimited));
            } catch (EpUnavailableException e) {
                reasons.add(e.getMessage());
            }
        }
        String why = reasons.isEmpty() ? BEST : String.join("; ", reasons);
        return fits.stream()
                .min(Comparator.comparing(fit -> cost(fit.taken()), Cost.OF_ALL))
                .map(fit -> decisions(fit, why))
                .orElseThrow(() -> new EpUnavailableException(REACHED + why));
    }

    private Fit without(EpPath.Kind posted, Fit unlimited) {
        Set<Integer> classes = new HashSet<>();
        Fit fit = unlimited;
        while (classes.addAll(unreached(fit.taken()))) {
            Set<Integer> limited = Set.copyOf(classes);
            BiPredicate<Integer, Scored> left = (kind, one) -> one.offer().kind() == posted
                    && (isLeft(one, from(kind), to(kind), limited) || isLeft(one, to(kind), from(kind), limited));
            fit = fit(left.negate(), "no other path");
        }
        return fit;
    }

    /** Classes of GPUs whose kernels post, and for which host threads post over NICs that do not reach their memory. */
    private Set<Integer> unreached(List<Scored> taken) {
        Set<Integer> classes = new HashSet<>();
        for (PairKinds.Role role : kinds.roles()) {
            if (Arrays.stream(role.from()).anyMatch(kind -> isDevicePosted(taken.get(kind)))
                    && (Arrays.stream(role.from()).anyMatch(kind -> misses(taken.get(kind), from(kind), to(kind)))
                            || Arrays.stream(role.to())
                                    .anyMatch(kind -> misses(taken.get(kind), to(kind), from(kind))))) {
                classes.add(from(role.from()[0]));
            }
        }
        return classes;
    }

    private boolean isLeft(Scored one, int own, int peer, Set<Integer> limited) {
        return limited.contains(own) && (isDevicePosted(one) || misses(one, own, peer));
    }

    /** Returns whether host threads post over NICs that do not reach the memory of GPUs of class {@code own}. */
    private boolean misses(Scored one, int own, int peer) {
        if (one.offer().kind() != EpPath.Kind.HOST_POSTED) {
            return false;
        }
        Set<Integer> near = reached.getOrDefault(one.id(), Set.of());
        boolean atPeer = near.contains(own) && !near.contains(peer);
        return pinned.contains(own) || (one.offer().staged() && !atPeer);
    }

    private List<Decision> decisions(Fit fit, String why) {
        return IntStream.range(0, offers.size())
                .mapToObj(kind -> chooser.take(
                        offers.get(kind), fit.taken().get(kind), better -> ruledOut(kind, better, fit, why)))
                .toList();
    }

    /** Class of the writing rank. */
    private int from(int kind) {
        return kinds.classOf(kinds.kinds().get(kind).from());
    }

    /** Class of the peer. */
    private int to(int kind) {
        return kinds.classOf(kinds.kinds().get(kind).to());
    }

    private boolean isBetweenGpus(int kind) {
        Kind pairs = kinds.kinds().get(kind);
        return profiles.get(pairs.from()).device().isGpu()
                && profiles.get(pairs.to()).device().isGpu();
    }

    private int back(int kind) {
        Kind pairs = kinds.kinds().get(kind);
        return kinds.index(pairs.to(), pairs.from());
    }

    /** Kinds of pairs by which several backends would map the memory of one rank. */
    private Set<Integer> conflicts(List<Scored> taken) {
        Set<Integer> conflicts = new HashSet<>();
        for (PairKinds.Role role : kinds.roles()) {
            List<Integer> mapped = IntStream.concat(Arrays.stream(role.from()), Arrays.stream(role.to()))
                    .filter(kind -> isMapped(taken.get(kind)))
                    .boxed()
                    .toList();
            if (mapped.stream().map(kind -> taken.get(kind).id()).distinct().count() > 1) {
                conflicts.addAll(mapped);
            }
        }
        return conflicts;
    }

    /** Kinds of pairs that are best mapped, in parts: what a rank maps in one has no say in what one maps in another. */
    private Collection<List<Integer>> parts(List<Scored> best) {
        int[] part = IntStream.range(0, kinds.classes()).toArray();
        List<Integer> mapped = IntStream.range(0, best.size())
                .filter(kind -> isMapped(best.get(kind)))
                .boxed()
                .toList();
        for (int kind : mapped) {
            int from = part[from(kind)];
            int to = part[to(kind)];
            for (int i = 0; from != to && i < part.length; i++) {
                part[i] = part[i] == to ? from : part[i];
            }
        }
        return mapped.stream()
                .collect(Collectors.groupingBy(kind -> part[from(kind)]))
                .values();
    }

    /** The best offers of a part where at most one backend maps memory. */
    private Part mappedByOne(List<Integer> part, BiPredicate<Integer, Scored> allowed) {
        List<String> backends = part.stream()
                .flatMap(kind -> offers.get(kind).scored().stream())
                .filter(JointChoice::isMapped)
                .map(Scored::id)
                .distinct()
                .sorted()
                .toList();
        return Stream.concat(Stream.of(""), backends.stream())
                .flatMap(backend -> part(part, allowed.and(mappedBy(backend))).stream())
                .min(Comparator.comparing(Part::cost, Cost.OF_ALL))
                .orElseThrow(() -> new EpUnavailableException(ONE_BACKEND
                        + backends.stream()
                                .map(backend ->
                                        backend + " does not connect " + missed(part, allowed.and(mappedBy(backend))))
                                .collect(Collectors.joining("; "))));
    }

    private static BiPredicate<Integer, Scored> mappedBy(String backend) {
        return (kind, one) -> !isMapped(one) || one.id().equals(backend);
    }

    /** The best of the offers that are allowed; empty if some pair has none. */
    private Optional<Part> part(List<Integer> part, BiPredicate<Integer, Scored> allowed) {
        Map<Integer, Scored> taken = new TreeMap<>();
        Cost cost = Cost.NONE;
        for (int kind : part) {
            Optional<Scored> one = choose(kind, allowed);
            if (one.isEmpty()) {
                return Optional.empty();
            }
            taken.put(kind, one.get());
            cost = cost.and(cost(kind, one.get()));
        }
        return Optional.of(new Part(taken, cost));
    }

    /** The best offer of a kind of pairs; between GPUs, of the kind of path that is best for both directions together. */
    private Optional<Scored> choose(int kind, BiPredicate<Integer, Scored> allowed) {
        Optional<Scored> first = first(kind, allowed);
        if (!isBetweenGpus(kind) || pathKind(first).equals(pathKind(first(back(kind), allowed)))) {
            return first;
        }
        return Stream.of(EpPath.Kind.values())
                .flatMap(path -> both(kind, allowed.and(isOf(path))).stream())
                .min(Comparator.comparing(Both::cost, Cost.OF_PAIR))
                .map(Both::there);
    }

    private static BiPredicate<Integer, Scored> isOf(EpPath.Kind path) {
        return (kind, one) -> one.offer().kind() == path;
    }

    private Optional<Both> both(int kind, BiPredicate<Integer, Scored> wanted) {
        int back = back(kind);
        return first(kind, wanted)
                .flatMap(there -> first(back, wanted)
                        .map(here -> new Both(there, cost(kind, there).and(cost(back, here)))));
    }

    private static Optional<EpPath.Kind> pathKind(Optional<Scored> one) {
        return one.map(taken -> taken.offer().kind());
    }

    private static boolean isMapped(Scored one) {
        return one.offer().kind() == EpPath.Kind.MAPPED;
    }

    private static boolean isDevicePosted(Scored one) {
        return one.offer().kind() == EpPath.Kind.DEVICE_POSTED;
    }

    private Optional<Scored> first(int kind, BiPredicate<Integer, Scored> wanted) {
        return offers.get(kind).scored().stream()
                .filter(one -> wanted.test(kind, one))
                .findFirst();
    }

    private Cost cost(List<Scored> taken) {
        return IntStream.range(0, taken.size())
                .mapToObj(kind -> cost(kind, taken.get(kind)))
                .reduce(Cost.NONE, Cost::and);
    }

    private Cost cost(int kind, Scored one) {
        long pairs = kinds.kinds().get(kind).pairs();
        return new Cost(
                chooser.comesLast(one) ? pairs : 0,
                pairs * one.preference(),
                one.offer().staged() ? pairs : 0,
                pairs * one.micros());
    }

    /** Returns why a better offer for its pairs is not taken; {@code why} for one that is not allowed. */
    private String ruledOut(int kind, Scored better, Fit fit, String why) {
        if (!fit.allowed().test(kind, better)) {
            return REACHED + why;
        }
        EpPath.Kind path = better.offer().kind();
        if (!isBetweenGpus(kind) || path == fit.best().get(kind).offer().kind()) {
            return ONE_BACKEND + BEST;
        }
        return SAME_KIND
                + (first(back(kind), fit.allowed().and(isOf(path))).isEmpty()
                        ? "the opposite direction has no path of this kind"
                        : "another kind is better for both directions together");
    }

    /** Names the first pair that has no path among the offers that are allowed. */
    private String missed(List<Integer> part, BiPredicate<Integer, Scored> allowed) {
        List<Kind> missed = part.stream()
                .filter(kind -> choose(kind, allowed).isEmpty())
                .map(kinds.kinds()::get)
                .sorted(Kind.ORDER)
                .toList();
        long count = missed.stream().mapToLong(Kind::pairs).sum();
        return profiles.get(missed.get(0).from()).label() + " to "
                + profiles.get(missed.get(0).to()).label() + (count > 1 ? " (" + count + " such pairs)" : "");
    }
}
