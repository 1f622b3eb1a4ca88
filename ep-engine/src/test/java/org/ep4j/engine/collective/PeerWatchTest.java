package org.ep4j.engine.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.Bootstrap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PeerWatchTest {
    @Test
    void tellsThePeerThatLeftAndLooksAgainOnlyAfterAChange() {
        List<Bootstrap> members = Bootstrap.inProcess(3);
        Map<Integer, String> told = new TreeMap<>();
        PeerWatch watch = new PeerWatch(members.get(0), Map.of(1, why -> told.put(1, why), 2, why -> told.put(2, why)));
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
}
