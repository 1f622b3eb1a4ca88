package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * What the server tells a member that it lets in.
 *
 * @param heartbeat pause before a sign of life
 * @param silence quiet time after which the other side is lost
 * @param local true when the rendezvous listens on the loopback alone, so all members are on one machine
 * @param group random bytes of the group, for its failover key
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record Terms(Duration heartbeat, Duration silence, boolean local, byte[] group) {
    static final int BYTES = 4 + 4 + 1 + Keys.BYTES;

    byte[] encode() {
        return ByteBuffer.allocate(BYTES)
                .putInt(millis(heartbeat))
                .putInt(millis(silence))
                .put((byte) (local ? 1 : 0))
                .put(group)
                .array();
    }

    static Terms parse(byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        int heartbeat = buffer.getInt();
        int silence = buffer.getInt();
        if (heartbeat < 1 || silence < heartbeat) {
            throw new IOException("it wants a sign of life every " + heartbeat + " of " + silence + " ms");
        }
        boolean local = buffer.get() != 0;
        byte[] group = new byte[Keys.BYTES];
        buffer.get(group);
        return new Terms(Duration.ofMillis(heartbeat), Duration.ofMillis(silence), local, group);
    }

    /** Key of the connections between members of the group, for failover. */
    byte[] failoverKey(byte[] stretched) {
        return Keys.derive(stretched, "failover", group);
    }

    private static int millis(Duration duration) {
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, duration.toMillis()));
    }
}
