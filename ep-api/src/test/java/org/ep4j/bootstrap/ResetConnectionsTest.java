package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** Connections to the hub that are reset while all processes live. */
@Tag("promptness")
@Timeout(60)
class ResetConnectionsTest {
    private static final int SIZE = 4;

    private final Ranks ranks = new Ranks();

    @AfterEach
    void end() {
        ranks.close();
    }

    /** Passes the connections of members on to the hub until they are reset. */
    private final class Relay implements Closeable {
        private final ServerSocket listener = new ServerSocket(0, SIZE, InetAddress.getLoopbackAddress());
        private final List<Socket> sockets = new ArrayList<>();

        private final List<CompletableFuture<Void>> serving = new ArrayList<>();

        Relay(int target) throws IOException {
            serving.add(ranks.run(() -> accept(target)));
        }

        private void accept(int target) {
            try {
                while (true) {
                    Socket member = listener.accept();
                    Socket hub = TcpGroup.connect(target);
                    synchronized (sockets) {
                        sockets.addAll(List.of(member, hub));
                        serving.add(ranks.run(() -> pump(member, hub)));
                        serving.add(ranks.run(() -> pump(hub, member)));
                    }
                }
            } catch (IOException e) {
                assertThat(listener.isClosed()).isTrue();
            }
        }

        private void pump(Socket from, Socket to) {
            try {
                from.setSoTimeout(0);
                from.getInputStream().transferTo(to.getOutputStream());
                to.shutdownOutput();
            } catch (IOException e) {
                assertThat(from.isClosed() || to.isClosed()).isTrue();
            }
        }

        /** Resets the newest connections one after the other, with a pause in which news of the first could reach the others. */
        void reset(int members) throws IOException {
            synchronized (sockets) {
                for (int i = sockets.size() - 1; i >= sockets.size() - 2 * members; i--) {
                    sockets.get(i).setSoLinger(true, 0);
                    sockets.get(i).close();
                    BootstrapContract.pause(2);
                }
            }
        }

        @Override
        public void close() throws IOException {
            listener.close();
            synchronized (sockets) {
                for (Socket socket : sockets) {
                    socket.close();
                }
            }
            serving.forEach(Ranks::get);
        }
    }

    private List<Bootstrap> form(RendezvousServer server, Relay relay) {
        TcpSettings zero = TcpGroup.settings(0, SIZE, server.port());
        return ranks.all(
                SIZE,
                r -> TcpGroup.join(
                        TcpGroup.rank(zero, r, r == 0 ? server.port() : relay.listener.getLocalPort()),
                        r == 0 ? server : null));
    }

    @RepeatedTest(10)
    void theOthersGoOnWithoutAHubThatLostAllItsConnections() throws IOException {
        RendezvousServer server = RendezvousServer.start(TcpGroup.settings(0, SIZE, 0));
        try (Relay relay = new Relay(server.port())) {
            List<Bootstrap> group = form(server, relay);
            relay.reset(SIZE - 1);
            for (int r = 0; r < SIZE; r++) {
                Bootstrap member = group.get(r);
                Ranks.until("rank " + r + " knows that the hub is out", () -> member.state(0) == MemberState.LOST);
            }
            List<Integer> living = List.of(1, 2, 3);
            List<List<byte[]>> gathered = ranks.all(
                    SIZE - 1,
                    i -> group.get(living.get(i))
                            .subgroup("after", living)
                            .allGather("all", new byte[] {(byte) i}, Ranks.LONG));
            assertThat(gathered)
                    .allSatisfy(
                            parts -> assertThat(parts).containsExactly(new byte[] {0}, new byte[] {1}, new byte[] {2}));
            for (int r : living) {
                assertThat(living).allMatch(other -> group.get(r).state(other) == MemberState.ALIVE);
            }
            closeAll(group);
        }
    }

    @RepeatedTest(5)
    void aMemberWhoseConnectionIsResetIsOutAndTheOthersGoOn() throws IOException {
        RendezvousServer server = RendezvousServer.start(TcpGroup.settings(0, SIZE, 0));
        try (Relay relay = new Relay(server.port())) {
            List<Bootstrap> group = form(server, relay);
            relay.reset(1);
            Ranks.until(
                    "one member is out",
                    () -> group.stream().anyMatch(member -> member.state(member.rank()) == MemberState.LOST));
            int out = IntStream.range(0, SIZE)
                    .filter(r -> group.get(r).state(r) == MemberState.LOST)
                    .findFirst()
                    .orElseThrow();
            assertThat(out).isNotZero();
            for (Bootstrap member : group) {
                Ranks.until("all know it", () -> member.state(out) == MemberState.LOST);
            }
            List<Integer> living =
                    IntStream.range(0, SIZE).filter(r -> r != out).boxed().toList();
            ranks.all(
                    SIZE - 1,
                    i -> group.get(living.get(i)).subgroup("after", living).allGather("all", new byte[1], Ranks.LONG));
            closeAll(group);
        }
    }

    private void closeAll(List<Bootstrap> group) {
        ranks.all(SIZE, r -> {
            group.get(r).close();
            return r;
        });
    }
}
