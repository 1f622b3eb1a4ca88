package org.ep4j.plan;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;
import org.ep4j.spi.RankProfile;

/** Why backends were not taken, as text that is made when it is read: plans have many paths, and few are read. Immutable. */
final class RejectionTexts extends AbstractList<String> implements RandomAccess {
    private final List<Rejection> rejections;
    private final RankProfile from;
    private final RankProfile to;

    RejectionTexts(List<Rejection> rejections, RankProfile from, RankProfile to) {
        this.rejections = rejections;
        this.from = from;
        this.to = to;
    }

    @Override
    public String get(int index) {
        return rejections.get(index).describe(from, to);
    }

    @Override
    public int size() {
        return rejections.size();
    }
}
