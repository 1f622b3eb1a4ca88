package org.ep4j.plan;

import com.google.common.base.Strings;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.config.PortName;
import org.ep4j.topology.Locality;

/**
 * Spreads the ranks of one host over its NIC ports, for one backend.
 *
 * <ul>
 *   <li>A rank uses ports of its nearest distance only, of one fabric and one rate (those with the largest sum).
 *   <li>Where these suffice for all ranks that compete for them, each gets the same number for itself, as many as there
 *       are: both ports of a dual-port card, all four of four near NICs, two of four that two GPUs are near to.
 *   <li>Where they do not, each rank gets one port, and ports are shared as evenly as possible; ports of other rates that
 *       are as near are then shared too, by their bandwidth.
 *   <li>A rank on a shared port moves to an idle farther port of the same fabric when its estimated bandwidth is at least
 *       {@value #CLEARLY} times its share, unless the nearer one can use GPUDirect and the farther one cannot. A farther
 *       port is always the only one of its rank: Microsoft measured with MSCCL++ that a second NIC, not near to the GPU,
 *       made 38.7 GB/s into 13.8.
 *   <li>Networks that no router joins are shared out one by one: a rank gets ports of each that it is near to, since others
 *       may have no port in the same one otherwise.
 * </ul>
 *
 * Ports that the user fixed for a rank are left alone by ranks that have others as near. Lower GPUs get lower ports: names
 * count as people count, ports of one card stay together. The order of ranks is the order of the argument; the order of
 * their candidates does not matter, except where the user fixed it.
 */
final class NicAssignment {
    /**
     * Factor by which the estimate of a farther port must be better; estimates are rough, and moving gains little
     * below.
     */
    private static final double CLEARLY = 1.5;

    /** Any gain that is more than rounding, between ports that are equally near. */
    private static final double ANY = 1.01;

    private static final Pattern NUMBER = Pattern.compile("[0-9]+");

    /** As people count: {@code mlx5_2} before {@code mlx5_10}. */
    static final Comparator<String> AS_COUNTED = Comparator.comparing(
                    (String name) -> NUMBER.matcher(name).replaceAll(found -> Strings.padStart(found.group(), 20, '0')))
            .thenComparing(Comparator.naturalOrder());

    private final List<Request> requests;
    private final List<PortName> ports = new ArrayList<>();
    /** Candidate ports by rank, then by number of the port. */
    private final List<Map<Integer, PortView>> views = new ArrayList<>();

    private final List<List<Integer>> near = new ArrayList<>();
    private final List<List<Integer>> given = new ArrayList<>();
    private final List<String> reasons = new ArrayList<>();
    private final int[] load;

    /** Ports of which a rank gets some: usable ones, or, if {@code fixed}, exactly those that the user named. */
    record Request(Locality locality, List<String> candidates, boolean fixed) {
        Request {
            candidates = List.copyOf(candidates);
        }
    }

    /**
     * Ports of a rank for one backend, {@code name:port} in the order of lanes; the reason names no rank and no host.
     */
    record Share(List<String> ports, String reason) {
        static final Share NONE = new Share(List.of(), "");

        Share {
            ports = List.copyOf(ports);
        }
    }

    private NicAssignment(List<Request> requests) {
        this.requests = requests;
        List<List<PortView>> candidates = requests.stream()
                .map(request -> PortView.of(request.candidates(), request.locality()))
                .toList();
        sortPorts(candidates);
        Map<PortName, Integer> numbers = new HashMap<>();
        ports.forEach(port -> numbers.put(port, numbers.size()));
        for (Request request : requests) {
            Map<Integer, PortView> seen = new TreeMap<>();
            candidates.get(views.size()).forEach(view -> seen.put(numbers.getOrDefault(view.name(), -1), view));
            views.add(seen);
            near.add(request.fixed() ? List.of() : nearest(seen));
            given.add(List.of());
            reasons.add("");
        }
        this.load = new int[ports.size()];
        keepFixed();
    }

    /** Ports that the user fixed for a rank are left alone by ranks that have others as near. */
    private void keepFixed() {
        for (int rank = 0; rank < views.size(); rank++) {
            if (requests.get(rank).fixed()) {
                views.get(rank).keySet().forEach(port -> load[port]++);
            }
        }
        for (int rank = 0; rank < near.size(); rank++) {
            List<Integer> left =
                    near.get(rank).stream().filter(port -> load[port] == 0).toList();
            if (!left.isEmpty()) {
                near.set(rank, left);
            }
        }
    }

    /** Assigns; the result is in the order of the argument. */
    static List<Share> assign(List<Request> requests) {
        NicAssignment assignment = new NicAssignment(requests);
        assignment.spread();
        assignment.useOtherPorts();
        return assignment.shares();
    }

    /** By card, then by name: a card stands where the first of its names stands. */
    private void sortPorts(List<List<PortView>> candidates) {
        Map<PortName, String> cards = new HashMap<>();
        Map<String, String> firstOfCard = new HashMap<>();
        for (List<PortView> seen : candidates) {
            for (PortView view : seen) {
                cards.put(view.name(), view.card());
                firstOfCard.merge(view.card(), view.name().nic(), (a, b) -> AS_COUNTED.compare(a, b) <= 0 ? a : b);
            }
        }
        ports.addAll(cards.keySet());
        ports.sort(Comparator.comparing(
                        (PortName port) -> firstOfCard.getOrDefault(cards.getOrDefault(port, ""), ""), AS_COUNTED)
                .thenComparing(PortName::nic, AS_COUNTED)
                .thenComparingInt(PortName::port));
    }

    private record Alike(PortView.Fabric fabric, double estimate) {
        double weight() {
            return estimate > 0 ? estimate : 1;
        }
    }

    /**
     * Selects, of the nearest ports, those of one fabric and rate that have the largest sum; then fewer, then lower
     * ones.
     */
    private static List<Integer> nearest(Map<Integer, PortView> views) {
        int least = views.values().stream().mapToInt(PortView::nearness).min().orElse(0);
        Map<Alike, List<Integer>> alike = new HashMap<>();
        views.forEach((port, view) -> {
            if (view.nearness() == least) {
                alike.computeIfAbsent(new Alike(view.fabric(), view.estimate()), k -> new ArrayList<>())
                        .add(port);
            }
        });
        return alike.entrySet().stream()
                .min(Comparator.comparingDouble((Map.Entry<Alike, List<Integer>> group) ->
                                -group.getKey().weight() * group.getValue().size())
                        .thenComparingInt(group -> group.getValue().size())
                        .thenComparingInt(group -> group.getValue().get(0)))
                .map(Map.Entry::getValue)
                .orElse(List.of());
    }

    private void spread() {
        TreeSet<String> networks = new TreeSet<>();
        for (int rank = 0; rank < near.size(); rank++) {
            near(rank).forEach(view -> networks.add(view.network()));
        }
        for (String network : networks) {
            spread(network);
        }
    }

    private void spread(String network) {
        List<List<Integer>> wishes = new ArrayList<>();
        for (int rank = 0; rank < near.size(); rank++) {
            int of = rank;
            wishes.add(near.get(rank).stream()
                    .filter(port -> view(of, port).network().equals(network))
                    .toList());
        }
        boolean[] done = new boolean[requests.size()];
        for (int first = 0; first < done.length; first++) {
            if (!done[first] && !wishes.get(first).isEmpty()) {
                List<Integer> competing = competing(first, wishes);
                competing.forEach(rank -> done[rank] = true);
                spread(competing, competing.stream().map(wishes::get).toList());
            }
        }
    }

    /** Ranks that compete with one for ports, directly or through others. */
    private static List<Integer> competing(int first, List<List<Integer>> wishes) {
        TreeSet<Integer> ranks = new TreeSet<>(List.of(first));
        TreeSet<Integer> reached = new TreeSet<>(wishes.get(first));
        boolean grown = true;
        while (grown) {
            grown = false;
            for (int rank = 0; rank < wishes.size(); rank++) {
                if (!ranks.contains(rank) && wishes.get(rank).stream().anyMatch(reached::contains)) {
                    ranks.add(rank);
                    reached.addAll(wishes.get(rank));
                    grown = true;
                }
            }
        }
        return List.copyOf(ranks);
    }

    private void spread(List<Integer> competing, List<List<Integer>> wishes) {
        int fewest = wishes.stream().mapToInt(List::size).min().orElse(0);
        long there = wishes.stream().flatMap(List::stream).distinct().count();
        int each = (int) Math.min(fewest, there / competing.size());
        Optional<List<List<Integer>>> own = Optional.empty();
        while (own.isEmpty() && each > 0) {
            own = PortMatching.exclusive(wishes, ports.size(), each--);
        }
        List<List<Integer>> result = own.orElseGet(() -> PortMatching.shared(wishes, ports.size()));
        for (int i = 0; i < competing.size(); i++) {
            List<Integer> ofOthers = given.get(competing.get(i));
            given.set(
                    competing.get(i),
                    Stream.concat(ofOthers.stream(), result.get(i).stream()).toList());
            result.get(i).forEach(port -> load[port]++);
        }
    }

    private record Move(int rank, int port, PortView view) {}

    private void useOtherPorts() {
        // Ranks see different bandwidths, so moves could go round in a circle: their number is bounded.
        int most = requests.size() * ports.size();
        Optional<Move> best = bestMove();
        for (int moves = 0; moves < most && best.isPresent(); moves++) {
            Move move = best.get();
            int left = given.get(move.rank).get(0);
            boolean near = move.view.nearness() == view(move.rank, left).nearness();
            reasons.set(move.rank, near ? "" : moved(move, view(move.rank, left), load[left]));
            given.set(move.rank, List.of(move.port));
            load[left]--;
            load[move.port]++;
            best = bestMove();
        }
    }

    private Optional<Move> bestMove() {
        List<Move> moves = new ArrayList<>();
        for (int rank = 0; rank < given.size(); rank++) {
            if (given.get(rank).size() == 1 && load[given.get(rank).get(0)] > 1) {
                for (var other : views.get(rank).entrySet()) {
                    if (pays(rank, other.getKey(), other.getValue())) {
                        moves.add(new Move(rank, other.getKey(), other.getValue()));
                    }
                }
            }
        }
        // The higher of two like ranks moves on, as it would in natural order.
        return moves.stream()
                .min(Comparator.comparingInt((Move move) -> move.view.nearness())
                        .thenComparingDouble(move -> -move.view.estimate() / (load[move.port] + 1))
                        .thenComparingInt(move -> -move.rank)
                        .thenComparingInt(move -> move.port));
    }

    private boolean pays(int rank, int port, PortView view) {
        int mine = given.get(rank).get(0);
        PortView now = view(rank, mine);
        if (port == mine || !view.fabric().equals(now.fabric())) {
            return false;
        }
        if (view.nearness() == now.nearness()) {
            boolean striped = given.stream().anyMatch(held -> held.size() > 1 && held.contains(port));
            return !striped && view.estimate() / (load[port] + 1) > ANY * now.estimate() / load[mine];
        }
        return load[port] == 0 && pays(view, now, load[mine]);
    }

    /** Returns true if an idle farther port is clearly better than a share of a nearer one. */
    private static boolean pays(PortView idle, PortView now, int sharing) {
        if (now.direct() && !idle.direct()) {
            return false;
        }
        boolean known = now.estimate() > 0 && idle.estimate() > 0 && (idle.way() > 0 || idle.direct());
        if (!known) {
            // Without figures, a whole port within reach of GPUDirect still beats half of one.
            return now.direct() && idle.direct();
        }
        return idle.estimate() >= CLEARLY * now.estimate() / sharing;
    }

    private static String moved(Move move, PortView left, int sharing) {
        String figures = move.view.estimate() > 0 && left.estimate() > 0
                ? String.format(
                        Locale.ROOT,
                        ": %.1f GB/s against a share of %.1f",
                        move.view.estimate(),
                        left.estimate() / sharing)
                : "";
        return "idle (" + move.view.how() + "), better than sharing the nearest port (" + left.how() + ")" + figures;
    }

    private List<PortView> near(int rank) {
        return near.get(rank).stream().map(port -> view(rank, port)).toList();
    }

    private PortView view(int rank, int port) {
        return views.get(rank).getOrDefault(port, PortView.unknown(ports.get(port)));
    }

    private List<Share> shares() {
        return IntStream.range(0, requests.size())
                .mapToObj(rank -> requests.get(rank).fixed()
                        ? new Share(requests.get(rank).candidates(), "as ep.nic.map says")
                        : new Share(
                                given.get(rank).stream()
                                        .map(port -> ports.get(port).toString())
                                        .toList(),
                                reason(rank)))
                .toList();
    }

    private String reason(int rank) {
        List<Integer> mine = given.get(rank);
        if (mine.isEmpty() || !reasons.get(rank).isEmpty()) {
            return reasons.get(rank);
        }
        long networks =
                mine.stream().map(port -> view(rank, port).network()).distinct().count();
        String how = "nearest (" + view(rank, mine.get(0)).how() + ")"
                + (networks > 1 ? " of " + networks + " networks" : "");
        int sharing = load[mine.get(0)];
        int all = near.get(rank).size();
        if (sharing > 1) {
            return how + ", shared by " + sharing + " ranks";
        }
        return mine.size() == all
                ? (all == 1 ? "" : all == 2 ? "both " : "all " + all + " ") + how
                : mine.size() + " of " + all + " " + how + ", not shared";
    }
}
