package org.ep4j.engine.bootstrap;

import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap.MemberState;

/** One set of members as one of them sees it: all, or a subgroup. */
final class Scope {
    private final String key;
    private final String label;
    private final List<Integer> ranks;
    private final AtomicReferenceArray<MemberState> states;

    /**
     * A scope.
     *
     * @param key names it on the hub
     * @param label names it in messages; empty for all members
     * @param ranks group ranks of its members, in their order
     */
    Scope(String key, String label, List<Integer> ranks) {
        this.key = key;
        this.label = label;
        this.ranks = List.copyOf(ranks);
        this.states = new AtomicReferenceArray<>(ranks.size());
        for (int i = 0; i < ranks.size(); i++) {
            states.set(i, MemberState.ALIVE);
        }
    }

    static Scope all(String key, int size) {
        return new Scope(key, "", IntStream.range(0, size).boxed().toList());
    }

    /** Key of a subgroup: the length keeps a name from looking like a path of names. */
    String childKey(String name) {
        return key + name.length() + ":" + name;
    }

    String childLabel(String name) {
        return label.isEmpty() ? name : label + "/" + name;
    }

    /** True for the scope in which members wait for each other at the start. */
    boolean isSetup() {
        return key.equals(Hub.SETUP);
    }

    String key() {
        return key;
    }

    String label() {
        return label;
    }

    List<Integer> ranks() {
        return ranks;
    }

    int size() {
        return ranks.size();
    }

    /** Number of a group rank in this scope, or -1. */
    int place(int groupRank) {
        return ranks.indexOf(groupRank);
    }

    MemberState state(int place) {
        return states.get(place);
    }

    /** Notes news; true when it was new. A member that has gone stays as it went. */
    boolean mark(int place, MemberState state) {
        return place >= 0 && states.compareAndSet(place, MemberState.ALIVE, state);
    }

    /** Name of a member in messages: its number here, and in the group where that is another. */
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
