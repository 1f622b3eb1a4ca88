package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.Chooser.Offers;
import org.ep4j.plan.Chooser.Scored;
import org.ep4j.plan.PairKinds.Kind;
import org.ep4j.spi.RankProfile;

/**
 * Takes an offer for each kind of pairs, so that the engine can use all of them together: kernels of a GPU post in one way to all of its
 * peers, two GPUs reach each other in the same way, and one backend allocates all memory of a rank that its peers
 * map. Where the best offers do not fit together, this takes the offers that cost least for all pairs.
 */
final class JointChoice {
    private static final List<EpPath.Kind> WAYS = List.of(EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED);

    private final List<RankProfile> profiles;
    private final PairKinds kinds;
    private final Chooser chooser;
    /** By kind of pair. */
    private final List<Offers> offers;

    private final long pairs;
    /** By way of posting: text about the pairs that it does not reach. */
    private final Map<EpPath.Kind, String> unreachable = new EnumMap<>(EpPath.Kind.class);

    JointChoice(List<RankProfile> profiles, PairKinds kinds, Chooser chooser, List<Offers> offers) {
        this.profiles = profiles;
        this.kinds = kinds;
        this.chooser = chooser;
        this.offers = offers;
        this.pairs = kinds.kinds().stream().mapToLong(Kind::pairs).sum();
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

    /** Offers by kind of pair with which GPUs post in one way. */
    private record Plan(EpPath.Kind way, List<Scored> taken, Cost cost) {}

    private record Part(Map<Integer, Scored> taken, Cost cost) {}

    /**
     * Decides for each kind of pair.
     *
     * @throws EpUnavailableException where no way of posting reaches all peers; names the pairs
     */
    List<Decision> decide() {
        List<Scored> best = offers.stream().map(one -> one.scored().get(0)).toList();
        if (fits(best)) {
            return take(best, (kind, better) -> "");
        }
        List<Plan> possible = WAYS.stream()
                .flatMap(way -> Stream.concat(freely(way).stream(), inOneWay(way).stream()))
                .sorted(Comparator.comparing(Plan::cost, Cost.OF_ALL))
                .toList();
        if (possible.isEmpty()) {
            throw new EpUnavailableException("kernels of a GPU must post to all of its peers in the same way, and "
                    + unreachable(EpPath.Kind.DEVICE_POSTED) + "; " + unreachable(EpPath.Kind.HOST_POSTED)
                    + "; add a backend that connects these pairs, or leave out the GPUs that NICs do not reach");
        }
        Plan plan = possible.get(0);
        return take(plan.taken(), (kind, better) -> ruledOut(kind, better, plan, possible));
    }

    private List<Decision> take(List<Scored> taken, BiFunction<Integer, Scored, String> ruledOut) {
        List<Decision> decisions = new ArrayList<>();
        for (int i = 0; i < taken.size(); i++) {
            int kind = i;
            decisions.add(chooser.take(offers.get(kind), taken.get(kind), better -> ruledOut.apply(kind, better)));
        }
        return decisions;
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

    /** Returns true if the engine can use these offers together. */
    private boolean fits(List<Scored> taken) {
        for (int kind = 0; kind < taken.size(); kind++) {
            if (isBetweenGpus(kind)
                    && taken.get(kind).offer().kind()
                            != taken.get(back(kind)).offer().kind()) {
                return false;
            }
        }
        for (PairKinds.Role role : kinds.roles()) {
            Set<EpPath.Kind> ways = EnumSet.noneOf(EpPath.Kind.class);
            Set<String> mapped = new HashSet<>();
            IntStream.concat(Arrays.stream(role.from()), Arrays.stream(role.to()))
                    .filter(kind -> taken.get(kind).offer().kind() == EpPath.Kind.MAPPED)
                    .forEach(kind -> mapped.add(taken.get(kind).id()));
            Arrays.stream(role.from())
                    .filter(this::isBetweenGpus)
                    .mapToObj(kind -> taken.get(kind).offer().kind())
                    .filter(WAYS::contains)
                    .forEach(ways::add);
            if (ways.size() > 1 || mapped.size() > 1) {
                return false;
            }
        }
        return true;
    }

    /** The best offers with which GPUs post in one way, without the rule of one mapping backend; empty where they do not fit. */
    private Optional<Plan> freely(EpPath.Kind way) {
        List<Integer> all = IntStream.range(0, offers.size()).boxed().toList();
        return part(all, way, backend -> true)
                .map(part -> new Plan(way, List.copyOf(part.taken().values()), part.cost()))
                .filter(plan -> fits(plan.taken()));
    }

    /** The best offers with which all GPUs that post do so in one way; empty if some pair has none. */
    private Optional<Plan> inOneWay(EpPath.Kind way) {
        Map<Integer, Scored> taken = new TreeMap<>();
        Cost cost = Cost.NONE;
        for (List<Integer> part : parts()) {
            Optional<Part> best = Stream.concat(Stream.of(""), mappedBy(part))
                    .flatMap(backend -> part(part, way, backend::equals).stream())
                    .min(Comparator.comparing(Part::cost, Cost.OF_ALL));
            if (best.isEmpty()) {
                return Optional.empty();
            }
            taken.putAll(best.get().taken());
            cost = cost.and(best.get().cost());
        }
        return Optional.of(new Plan(way, List.copyOf(taken.values()), cost));
    }

    /** Kinds of pairs in parts: what a rank maps in one has no say in what one maps in another. */
    private List<List<Integer>> parts() {
        int[] part = IntStream.range(0, kinds.classes()).toArray();
        for (int kind = 0; kind < offers.size(); kind++) {
            if (first(kind, one -> one.offer().kind() == EpPath.Kind.MAPPED).isPresent()) {
                Kind pairs = kinds.kinds().get(kind);
                int from = part[kinds.classOf(pairs.from())];
                int to = part[kinds.classOf(pairs.to())];
                for (int i = 0; from != to && i < part.length; i++) {
                    part[i] = part[i] == to ? from : part[i];
                }
            }
        }
        Map<Integer, List<Integer>> parts = new TreeMap<>();
        for (int kind = 0; kind < offers.size(); kind++) {
            Kind pairs = kinds.kinds().get(kind);
            parts.computeIfAbsent(part[kinds.classOf(pairs.from())], k -> new ArrayList<>())
                    .add(kind);
        }
        return List.copyOf(parts.values());
    }

    /** Backends that offer to map memory for some of these kinds of pairs. */
    private Stream<String> mappedBy(List<Integer> part) {
        return part.stream()
                .flatMap(kind -> offers.get(kind).scored().stream())
                .filter(one -> one.offer().kind() == EpPath.Kind.MAPPED)
                .map(Scored::id)
                .distinct()
                .sorted();
    }

    /** The best offers where memory is mapped only by some backends; empty if some pair has none. */
    private Optional<Part> part(List<Integer> part, EpPath.Kind way, Predicate<String> mappedBy) {
        Map<Integer, Scored> taken = new TreeMap<>();
        Cost cost = Cost.NONE;
        for (int kind : part) {
            Optional<Scored> one = isBetweenGpus(kind)
                    ? bothWays(kind, way, mappedBy)
                    : first(kind, offer -> offer.offer().kind() != EpPath.Kind.MAPPED || mappedBy.test(offer.id()));
            if (one.isEmpty()) {
                return Optional.empty();
            }
            taken.put(kind, one.get());
            cost = cost.and(cost(kind, one.get()));
        }
        return Optional.of(new Part(taken, cost));
    }

    /** The best of the offers of a kind of pairs whose way back has one of the same kind of path. */
    private Optional<Scored> bothWays(int kind, EpPath.Kind way, Predicate<String> mappedBy) {
        int back = back(kind);
        Optional<Scored> best = Optional.empty();
        Cost least = Cost.NONE;
        for (EpPath.Kind path : List.of(EpPath.Kind.MAPPED, way)) {
            Predicate<Scored> wanted =
                    one -> one.offer().kind() == path && (path != EpPath.Kind.MAPPED || mappedBy.test(one.id()));
            Optional<Scored> there = first(kind, wanted);
            Optional<Scored> here = first(back, wanted);
            if (there.isPresent() && here.isPresent()) {
                Cost cost = cost(kind, there.get()).and(cost(back, here.get()));
                if (best.isEmpty() || Cost.OF_PAIR.compare(cost, least) < 0) {
                    best = there;
                    least = cost;
                }
            }
        }
        return best;
    }

    private Optional<Scored> first(int kind, Predicate<Scored> wanted) {
        return offers.get(kind).scored().stream().filter(wanted).findFirst();
    }

    private Cost cost(int kind, Scored one) {
        long pairs = kinds.kinds().get(kind).pairs();
        return new Cost(
                chooser.comesLast(one) ? pairs : 0,
                pairs * one.preference(),
                one.offer().staged() ? pairs : 0,
                pairs * one.micros());
    }

    /** Returns why a better offer for its pairs is not taken. */
    private String ruledOut(int kind, Scored better, Plan plan, List<Plan> possible) {
        EpPath.Kind way = better.offer().kind();
        boolean alone = isBetweenGpus(kind)
                && first(back(kind), one -> one.offer().kind() == way).isEmpty();
        if (alone) {
            return "two GPUs must use the same kind of path in both directions,"
                    + " and the opposite direction has no path of this kind";
        }
        if (way == EpPath.Kind.MAPPED && plan.taken().get(kind).offer().kind() == EpPath.Kind.MAPPED) {
            return "all peers of a rank must map its memory through the same backend, and another backend costs less in total";
        }
        if (way == EpPath.Kind.MAPPED || way == plan.way()) {
            return "cannot be combined with the paths chosen for the opposite direction or for other peers;"
                    + " those paths cost less in total";
        }
        return "kernels of a GPU must post to all of its peers in the same way, and "
                + possible.stream()
                        .filter(other -> other.way() == way)
                        .findFirst()
                        .map(other -> text(way) + " would take "
                                + chooser.times(
                                        other.cost().micros() / pairs,
                                        plan.cost().micros() / pairs)
                                + " on average")
                        .orElseGet(() -> unreachable(way));
    }

    private String unreachable(EpPath.Kind way) {
        return unreachable.computeIfAbsent(way, this::findUnreachable);
    }

    /** Names the first pair that a way of posting does not reach. */
    private String findUnreachable(EpPath.Kind way) {
        List<Kind> missed = IntStream.range(0, offers.size())
                .filter(kind -> isBetweenGpus(kind)
                        && bothWays(kind, way, backend -> true).isEmpty())
                .mapToObj(kinds.kinds()::get)
                .sorted(Kind.ORDER)
                .toList();
        if (missed.isEmpty()) {
            return text(way)
                    + " paths do not reach all peers, and to reach the others by mapped paths, several backends would have"
                    + " to map the memory of one rank, which is not supported";
        }
        long count = missed.stream().mapToLong(Kind::pairs).sum();
        return text(way) + " does not reach " + profiles.get(missed.get(0).to()).label() + " from "
                + profiles.get(missed.get(0).from()).label() + (count > 1 ? " (" + count + " such pairs)" : "");
    }

    private static String text(EpPath.Kind way) {
        return way.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
