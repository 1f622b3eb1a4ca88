package org.ep4j.bootstrap;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.spi.MemberState;

/** One set of members on the hub, with the gathers that are under way in it. Guarded by the hub. */
final class HubScope {
    private final List<Integer> ranks;
    private final Map<Integer, Integer> index = new HashMap<>();
    private final MemberState[] states;
    private final BitSet declared = new BitSet();
    /** By tag; each holds the bytes of those who took part, by place in the scope. */
    private final Map<String, TreeMap<Integer, byte[]>> gathers = new HashMap<>();

    private int gone;
    private String mismatch = "";

    HubScope(List<Integer> ranks) {
        this.ranks = List.copyOf(ranks);
        for (int i = 0; i < this.ranks.size(); i++) {
            index.put(this.ranks.get(i), i);
        }
        states = new MemberState[this.ranks.size()];
        Arrays.fill(states, MemberState.ALIVE);
    }

    List<Integer> ranks() {
        return ranks;
    }

    boolean has(int rank) {
        return index.containsKey(rank);
    }

    void declare(int rank) {
        declared.set(rank);
    }

    boolean declaredBy(int rank) {
        return declared.get(rank);
    }

    MemberState state(int rank) {
        return states[place(rank)];
    }

    /** Notes that a member has gone; false when that was known. */
    boolean mark(int rank, MemberState state) {
        int place = place(rank);
        if (states[place] != MemberState.ALIVE) {
            return false;
        }
        states[place] = state;
        gone++;
        return true;
    }

    /** True when no member is left that could still use the scope. */
    boolean over() {
        return gone == states.length;
    }

    /** Why the scope cannot be used; empty when it can. */
    String mismatch() {
        return mismatch;
    }

    void mismatch(String text) {
        mismatch = text;
    }

    /** Adds a part; false when the member had already taken part in this gather. */
    boolean add(String tag, int rank, byte[] part) {
        return gathers.computeIfAbsent(tag, t -> new TreeMap<>()).putIfAbsent(place(rank), part) == null;
    }

    boolean complete(String tag) {
        return gather(tag).size() == ranks.size();
    }

    boolean takesPart(String tag, int rank) {
        return gather(tag).containsKey(place(rank));
    }

    void withdraw(String tag, int rank) {
        Map<Integer, byte[]> gather = gather(tag);
        gather.remove(place(rank));
        if (gather.isEmpty()) {
            gathers.remove(tag);
        }
    }

    /** Ends a gather and gives its parts in the order of the members. */
    List<byte[]> take(String tag) {
        List<byte[]> parts = List.copyOf(gather(tag).values());
        gathers.remove(tag);
        return parts;
    }

    /** Ends a gather without a result and gives those who took part. */
    List<Integer> drop(String tag) {
        List<Integer> contributors =
                gather(tag).keySet().stream().map(ranks::get).toList();
        gathers.remove(tag);
        return contributors;
    }

    /** Members that have not taken part. */
    List<Integer> missing(String tag) {
        return ranks.stream().filter(rank -> !takesPart(tag, rank)).toList();
    }

    /** Members that have gone without taking part; such a gather never completes. */
    List<Integer> goneAndMissing(String tag) {
        if (gone == 0) {
            return List.of();
        }
        return ranks.stream()
                .filter(rank -> state(rank) != MemberState.ALIVE && !takesPart(tag, rank))
                .toList();
    }

    /** Tags of the gathers under way. */
    List<String> tags() {
        return new ArrayList<>(gathers.keySet());
    }

    private Map<Integer, byte[]> gather(String tag) {
        return gathers.getOrDefault(tag, new TreeMap<>());
    }

    private int place(int rank) {
        Integer place = index.get(rank);
        if (place == null) {
            throw new IllegalArgumentException("rank " + rank + " is not among " + ranks);
        }
        return place;
    }
}
