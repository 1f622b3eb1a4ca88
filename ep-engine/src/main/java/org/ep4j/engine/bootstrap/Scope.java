package org.ep4j.engine.bootstrap;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap.MemberState;

/** One set of members, the whole group or a subgroup, with their states as one member knows them. */
class Scope {
    private final String key;
    private final String label;
    private final List<Integer> ranks;
    /** Ranks in this scope, by group rank, of members whose two ranks differ: none in most scopes. */
    private final Map<Integer, Integer> places = new HashMap<>();

    private final AtomicReferenceArray<MemberState> states;

    /**
     * Creates a scope whose members are alive.
     *
     * @param key name of the scope on the hub
     * @param label name in messages; empty for the whole group
     * @param ranks group ranks of its members, in their order
     */
    Scope(String key, String label, List<Integer> ranks) {
        this.key = key;
        this.label = label;
        this.ranks = List.copyOf(ranks);
        this.states = new AtomicReferenceArray<>(ranks.size());
        for (int i = 0; i < ranks.size(); i++) {
            states.set(i, MemberState.ALIVE);
            if (ranks.get(i) != i) {
                places.putIfAbsent(ranks.get(i), i);
            }
        }
    }

    static Scope all(String key, int size) {
        return new Scope(key, "", IntStream.range(0, size).boxed().toList());
    }

    /** Key of a subgroup, with the length of its name, so that no name looks like a path of names. */
    String childKey(String name) {
        return key + name.length() + ":" + name;
    }

    String childLabel(String name) {
        return label.isEmpty() ? name : label + "/" + name;
    }

    /** Returns whether this is the scope of {@link Hub#SETUP}. */
    boolean isSetup() {
        return key.equals(Hub.SETUP);
    }

    final String key() {
        return key;
    }

    String label() {
        return label;
    }

    final List<Integer> ranks() {
        return ranks;
    }

    final int size() {
        return ranks.size();
    }

    /** Rank in this scope of a group rank, or -1. */
    final int place(int groupRank) {
        boolean same = groupRank >= 0 && groupRank < ranks.size() && ranks.get(groupRank) == groupRank;
        return same ? groupRank : places.getOrDefault(groupRank, -1);
    }

    final MemberState state(int place) {
        return states.get(place);
    }

    /** Records that a member has left or is lost; returns false if it was not alive. */
    boolean mark(int place, MemberState state) {
        return place >= 0 && states.compareAndSet(place, MemberState.ALIVE, state);
    }

    /** Name of a member in messages: its rank here, and in the group if that differs. */
    String name(int groupRank) {
        int place = place(groupRank);
        if (place == groupRank) {
            return "rank " + groupRank;
        }
        return (place < 0 ? "(" : "rank " + place + " (") + "rank " + groupRank + " of the group)";
    }

    /** {@code allGather "tag"}, with the subgroup if it is one. */
    String phase(String tag) {
        if (isSetup()) {
            return "setup of the group";
        }
        return "allGather \"" + tag + "\"" + (label.isEmpty() ? "" : " of subgroup " + label);
    }
}
