package org.ep4j.plan;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/**
 * Gives ports to ranks of one host, both as numbers in their natural order. A result depends on nothing but the sets of
 * ports that each rank may have, and lower ranks get lower ports where that is possible.
 */
final class PortMatching {
    private final List<List<Integer>> wishes;
    private final List<List<Integer>> given = new ArrayList<>();
    private final int[] load;
    private final int capacity;

    private PortMatching(List<List<Integer>> wishes, int ports, int capacity) {
        this.wishes = wishes;
        this.load = new int[ports];
        this.capacity = capacity;
        wishes.forEach(wish -> given.add(new ArrayList<>()));
    }

    /** Gives every rank {@code each} of the ports that it may have, for itself; empty when there are not enough. */
    static Optional<List<List<Integer>>> exclusive(List<List<Integer>> wishes, int ports, int each) {
        PortMatching matching = new PortMatching(wishes, ports, 1);
        for (int rank = 0; rank < wishes.size(); rank++) {
            for (int i = 0; i < each; i++) {
                if (!matching.give(rank, new boolean[ports])) {
                    return Optional.empty();
                }
            }
        }
        return Optional.of(matching.inNaturalOrder());
    }

    /**
     * Gives every rank one port. Ports are shared as evenly as the wishes allow: each rank goes to the least loaded
     * port that can be reached by moving others along, which leaves no better assignment (Harvey, Ladner, Lovasz,
     * Tamir: Semi-Matchings for Bipartite Graphs and Load Balancing).
     */
    static List<List<Integer>> shared(List<List<Integer>> wishes, int ports) {
        PortMatching matching = new PortMatching(wishes, ports, Integer.MAX_VALUE);
        for (int rank = 0; rank < wishes.size(); rank++) {
            matching.giveLeastLoaded(rank);
        }
        return matching.inNaturalOrder();
    }

    private boolean give(int rank, boolean[] visited) {
        for (int port : wishes.get(rank)) {
            if (load[port] < capacity && !given.get(rank).contains(port)) {
                add(rank, port);
                return true;
            }
        }
        for (int port : wishes.get(rank)) {
            if (visited[port] || given.get(rank).contains(port)) {
                continue;
            }
            visited[port] = true;
            for (int holder = 0; holder < given.size(); holder++) {
                if (given.get(holder).contains(port) && give(holder, visited)) {
                    remove(holder, port);
                    add(rank, port);
                    return true;
                }
            }
        }
        return false;
    }

    private void giveLeastLoaded(int rank) {
        int[] from = new int[load.length];
        Arrays.fill(from, -1);
        Deque<Integer> queue = new ArrayDeque<>(List.of(rank));
        boolean[] asked = new boolean[wishes.size()];
        asked[rank] = true;
        int best = -1;
        while (!queue.isEmpty()) {
            int asking = queue.remove();
            for (int port : wishes.get(asking)) {
                if (from[port] >= 0) {
                    continue;
                }
                from[port] = asking;
                best = best < 0 || load[port] < load[best] ? port : best;
                for (int holder = 0; holder < given.size(); holder++) {
                    if (!asked[holder] && given.get(holder).contains(port)) {
                        asked[holder] = true;
                        queue.add(holder);
                    }
                }
            }
        }
        // Everybody on the way moves on by one port.
        int port = best;
        while (port >= 0) {
            int mover = from[port];
            int left = given.get(mover).isEmpty() ? -1 : given.get(mover).get(0);
            if (left >= 0) {
                remove(mover, left);
            }
            add(mover, port);
            port = left;
        }
    }

    private void add(int rank, int port) {
        given.get(rank).add(port);
        load[port]++;
    }

    private void remove(int rank, int port) {
        given.get(rank).remove((Integer) port);
        load[port]--;
    }

    /** Swaps ports between ranks while that brings a lower port to a lower rank. */
    private List<List<Integer>> inNaturalOrder() {
        boolean swapped = true;
        while (swapped) {
            swapped = false;
            for (int low = 0; low < given.size(); low++) {
                for (int high = low + 1; high < given.size(); high++) {
                    swapped |= swap(low, high);
                }
            }
        }
        given.forEach(ports -> ports.sort(null));
        return given;
    }

    private boolean swap(int low, int high) {
        for (int mine : given.get(low)) {
            for (int other : given.get(high)) {
                if (other < mine
                        && wishes.get(low).contains(other)
                        && wishes.get(high).contains(mine)
                        && !given.get(low).contains(other)
                        && !given.get(high).contains(mine)) {
                    given.get(low).remove((Integer) mine);
                    given.get(low).add(other);
                    given.get(high).remove((Integer) other);
                    given.get(high).add(mine);
                    return true;
                }
            }
        }
        return false;
    }
}
