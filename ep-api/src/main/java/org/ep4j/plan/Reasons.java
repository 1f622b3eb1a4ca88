package org.ep4j.plan;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;

/**
 * Why backends were not taken for a pair of ranks, made into text when it is read: a buffer of thousands of ranks asks for
 * thousands of paths, and reads no reason. Immutable.
 */
final class Reasons extends AbstractList<String> implements RandomAccess {
    private final List<Rejection> rejected;
    private final RankProfile from;
    private final RankProfile to;

    Reasons(List<Rejection> rejected, RankProfile from, RankProfile to) {
        this.rejected = rejected;
        this.from = from;
        this.to = to;
    }

    @Override
    public String get(int index) {
        return rejected.get(index).describe(from, to);
    }

    @Override
    public int size() {
        return rejected.size();
    }
}
