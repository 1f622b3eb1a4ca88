package org.ep4j.transport;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.ep4j.Bootstrap;

/** Bootstrap of rank 0 of a group whose other members only have states, which a test sets. */
final class OtherMembers implements Bootstrap {
    private final List<MemberState> states;
    private long changes;

    OtherMembers(int size) {
        states = new ArrayList<>(Collections.nCopies(size, MemberState.ALIVE));
    }

    void set(int rank, MemberState state) {
        states.set(rank, state);
        changes++;
    }

    @Override
    public int rank() {
        return 0;
    }

    @Override
    public int size() {
        return states.size();
    }

    @Override
    public List<byte[]> allGather(String tag, byte[] mine, Duration timeout) {
        if (size() > 1) {
            throw new UnsupportedOperationException("the other members send nothing");
        }
        return List.of(mine.clone());
    }

    @Override
    public MemberState state(int rank) {
        return states.get(rank);
    }

    @Override
    public long stateChanges() {
        return changes;
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> ranks) {
        throw new UnsupportedOperationException(name);
    }

    @Override
    public void close() {
        set(0, MemberState.LEFT);
    }
}
