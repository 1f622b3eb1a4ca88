package org.ep4j.engine.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.Test;

final class PeerWatchTest {
    private final List<Bootstrap> members = Bootstraps.inProcess(4);
    private final Map<Integer, String> told = new TreeMap<>();

    private PeerWatch watch(Collective collective, int... peers) {
        Map<Integer, Consumer<String>> gone = new TreeMap<>();
        IntStream.of(peers).forEach(peer -> gone.put(peer, why -> told.put(peer, why)));
        return new PeerWatch(collective, gone);
    }

    @Test
    void tellsThePeerThatLeftAndLooksAgainOnlyAfterAChange() {
        PeerWatch watch = watch(new Collective("wires", TestContexts.context(members.get(0))), 1, 2);
        watch.look();
        assertThat(told).isEmpty();
        members.get(2).close();
        watch.look();
        assertThat(told).containsExactly(Map.entry(2, "it has left the group"));
        told.clear();
        watch.look();
        assertThat(told).isEmpty();
        members.forEach(Bootstrap::close);
    }

    /** Member 1 of the survivors is rank 3: what it was in the bootstrap before does not count. */
    @Test
    void followsTheSurvivorsByTheirRanks() {
        Collective collective = new Collective("wires", TestContexts.context(members.get(1)));
        PeerWatch watch = watch(collective, 0, 2, 3);
        watch.look();
        assertThat(told).isEmpty();
        List<Bootstrap> left = IntStream.of(1, 3)
                .mapToObj(rank -> members.get(rank).subgroup("left", List.of(1, 3)))
                .toList();
        collective.continueWith(left.get(0), List.of(1, 3));
        watch.look();
        assertThat(told.keySet()).containsExactly(0, 2);
        assertThat(told.values()).containsOnly("the other ranks go on without it");
        told.clear();
        left.get(1).close();
        watch.look();
        assertThat(told).containsEntry(3, "it has left the group");
        members.forEach(Bootstrap::close);
    }

    @Test
    void allPeersAreGoneForARankThatIsOut() {
        AtomicBoolean out = new AtomicBoolean();
        Bootstrap member = (Bootstrap) Proxy.newProxyInstance(
                Bootstrap.class.getClassLoader(), new Class<?>[] {Bootstrap.class}, (proxy, method, args) -> {
                    if (out.get() && method.getName().equals("state") && args[0].equals(1)) {
                        return MemberState.LOST;
                    }
                    if (out.get() && method.getName().equals("stateChanges")) {
                        return Long.MAX_VALUE;
                    }
                    return method.invoke(members.get(1), args);
                });
        PeerWatch watch = watch(new Collective("wires", TestContexts.context(member)), 0, 2, 3);
        watch.look();
        assertThat(told).isEmpty();
        out.set(true);
        watch.look();
        assertThat(told.keySet()).containsExactly(0, 2, 3);
        assertThat(told.values()).containsOnly("the other ranks hold this rank lost and go on without it");
        members.forEach(Bootstrap::close);
    }
}
