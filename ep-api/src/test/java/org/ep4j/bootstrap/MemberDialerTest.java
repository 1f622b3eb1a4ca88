package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Members whose machine does not answer: a port whose backlog is full drops the first packets, as a machine without power does. */
@Timeout(60)
class MemberDialerTest {
    private static final Duration SILENCE = Duration.ofSeconds(2);
    private static final int BACKLOG_PROBES = 64;

    private final Reactor reactor = Reactor.start("ep4j-test");
    private final List<Socket> waiting = new ArrayList<>();

    @AfterEach
    void end() throws IOException {
        reactor.stop();
        for (Socket socket : waiting) {
            socket.close();
        }
    }

    private void fill(ServerSocket server) throws IOException {
        for (int i = 0; i < BACKLOG_PROBES; i++) {
            Socket socket = new Socket();
            waiting.add(socket);
            try {
                socket.connect(server.getLocalSocketAddress(), 200);
            } catch (SocketTimeoutException e) {
                return;
            }
        }
        throw new AssertionError("the backlog takes more than " + BACKLOG_PROBES + " connections");
    }

    private static MemberDialer.Outcome dial(MemberDialer dialer, int member, PeerAddress where) {
        return dialer.dial(member, where, Duration.ofMillis(200), connection -> {
            throw new AssertionError("nobody answers");
        });
    }

    @Test
    void waitsLessForFurtherMembersOfAMachineThatDidNotAnswer() throws IOException {
        InetAddress machine = InetAddress.getByName("127.0.0.2");
        Terms terms = new Terms(Duration.ofMillis(500), SILENCE, false, new byte[Keys.BYTES]);
        MemberDialer dialer = new MemberDialer(9, 10, new byte[Keys.BYTES], machine, reactor, terms);
        try (ServerSocket server = new ServerSocket(0, 1, machine)) {
            fill(server);
            PeerAddress where = new PeerAddress(Optional.of(machine), server.getLocalPort());
            long start = System.nanoTime();
            assertThat(dial(dialer, 0, where)).isEqualTo(MemberDialer.Outcome.SILENT);
            long first = System.nanoTime() - start;
            assertThat(Duration.ofNanos(first)).isGreaterThanOrEqualTo(SILENCE.minusMillis(100));
            for (int member = 1; member < 8; member++) {
                assertThat(dial(dialer, member, where)).isEqualTo(MemberDialer.Outcome.SILENT);
            }
            assertThat(Duration.ofNanos(System.nanoTime() - start - first))
                    .as("seven more members")
                    .isLessThan(SILENCE.multipliedBy(3));
        }
        int closed;
        try (ServerSocket gone = new ServerSocket(0, 1, machine)) {
            closed = gone.getLocalPort();
        }
        assertThat(dial(dialer, 8, new PeerAddress(Optional.of(machine), closed)))
                .as("the machine answers again")
                .isEqualTo(MemberDialer.Outcome.GONE);
    }
}
