package org.ep4j.transport.posted;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;

/** A group whose members are threads of this process: the engine, which has the real one, is not on the class path of these tests. */
final class InProcessMembers {
    private final List<Bootstrap.MemberState> states;
    private final AtomicLong changes = new AtomicLong();
    private final Map<String, List<CompletableFuture<byte[]>>> gathers = new ConcurrentHashMap<>();

    private InProcessMembers(int size) {
        states = Collections.synchronizedList(new ArrayList<>(Collections.nCopies(size, Bootstrap.MemberState.ALIVE)));
    }

    /** Creates the bootstraps of all ranks of a group. */
    static List<Member> create(int size) {
        InProcessMembers group = new InProcessMembers(size);
        List<Member> members = new ArrayList<>();
        IntStream.range(0, size).forEach(rank -> members.add(group.new Member(rank)));
        return members;
    }

    /** One member. */
    final class Member implements Bootstrap {
        private final int rank;
        private final Map<String, Integer> rounds = new HashMap<>();
        /** Tag of a gather that fails on this member alone. */
        volatile String failsIn = "";

        private Member(int rank) {
            this.rank = rank;
        }

        @Override
        public int rank() {
            return rank;
        }

        @Override
        public int size() {
            return states.size();
        }

        @Override
        public List<byte[]> allGather(String tag, byte[] mine, Duration timeout) {
            String round = tag + " " + rounds.merge(tag, 1, Integer::sum);
            List<CompletableFuture<byte[]>> all = gathers.computeIfAbsent(
                    round,
                    made -> Stream.generate(() -> new CompletableFuture<byte[]>())
                            .limit(size())
                            .toList());
            all.get(rank).complete(mine.clone());
            if (tag.equals(failsIn)) {
                throw new EpException("the answers were lost in a test");
            }
            return all.stream()
                    .map(one -> one.orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
                            .join()
                            .clone())
                    .toList();
        }

        @Override
        public MemberState state(int of) {
            return states.get(of);
        }

        @Override
        public long stateChanges() {
            return changes.get();
        }

        @Override
        public Bootstrap subgroup(String name, List<Integer> ranks) {
            throw new UnsupportedOperationException(name);
        }

        @Override
        public void close() {
            states.set(rank, MemberState.LEFT);
            changes.incrementAndGet();
        }
    }
}
