package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.ep4j.Bootstrap.MemberState;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PeerWatchTest {
    @Test
    void namesThePeerThatLeftOnceForEachChange() {
        OtherMembers members = new OtherMembers(3);
        Map<Integer, String> lost = new TreeMap<>();
        PeerWatch watch = new PeerWatch(members, Map.of(1, why -> lost.put(1, why), 2, why -> lost.put(2, why)));
        watch.poll();
        assertThat(lost).isEmpty();
        members.set(2, MemberState.LEFT);
        watch.poll();
        assertThat(lost).containsExactly(Map.entry(2, "it has left the group"));
        lost.clear();
        watch.poll();
        assertThat(lost).isEmpty();
    }
}
