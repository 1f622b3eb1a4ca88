package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.Closeable;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.engine.LogCapture;
import org.ep4j.testing.Guard;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A rendezvous of many members among many strangers. */
@Tag("verify")
final class RendezvousScaleTest {
    private static final int MOST_THREADS = 64;

    /** Threads of this rendezvous, and of those that other tests have at the same time. */
    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("ep4j-rendezvous"))
                .count();
    }

    @Test
    void servesAThousandMembersAndStrangersWithFewThreads() throws IOException {
        int size = Tier.all() ? 1024 : 256;
        TcpSettings zero = TcpGroup.settings(0, size, 0);
        RendezvousServer server = RendezvousServer.start(zero);
        List<Closeable> open = new ArrayList<>();
        try (LogCapture log = new LogCapture(RendezvousServer.class)) {
            for (int rank = 0; rank < size; rank++) {
                Socket stranger = TcpGroup.connect(server.port());
                open.add(stranger);
                if (rank % 2 == 0) {
                    stranger.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(US_ASCII));
                }
                RawMember member = new RawMember(TcpGroup.rank(zero, rank, server.port()), Handshake.nonce(), 1);
                open.add(member);
                assertThat(threads()).isLessThan(MOST_THREADS);
            }
            for (Closeable one : open) {
                if (one instanceof RawMember member) {
                    member.send(Wire.contribute(Hub.SETUP, Hub.SETUP_TAG, new byte[0]));
                }
            }
            Guard.until("the group has formed, which closes the port", () -> !TcpGroup.accepts(server.port()));
            assertThat(threads()).isLessThan(MOST_THREADS);
            assertThat(log.lines()).hasSizeLessThanOrEqualTo(RefusalLog.MOST + 1);
        } finally {
            for (Closeable one : open) {
                one.close();
            }
            server.abandon();
        }
    }
}
