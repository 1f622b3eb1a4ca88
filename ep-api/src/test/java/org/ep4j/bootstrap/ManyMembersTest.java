package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A large group on one hub, with strangers of every kind. */
@Timeout(180)
class ManyMembersTest {
    private static final int SIZE = 1024;

    @Test
    void aThousandMembersAndStrangersNeedFewThreads() throws IOException {
        TcpSettings base = TcpGroup.settings(0, SIZE, 0);
        TcpSettings zero = new TcpSettings(
                0,
                SIZE,
                base.host(),
                0,
                base.secret(),
                Duration.ofSeconds(120),
                Duration.ofSeconds(20),
                Duration.ofSeconds(90));
        RendezvousServer server = RendezvousServer.start(zero);
        List<RawMember> members = new ArrayList<>();
        List<Socket> strangers = new ArrayList<>();
        // Every process stretches the secret once; here one does it for all.
        Map<String, byte[]> stretched = new ConcurrentHashMap<>();
        UnaryOperator<byte[]> key = salt ->
                stretched.computeIfAbsent(HexFormat.of().formatHex(salt), text -> Keys.stretch(zero.secret(), salt));
        try (LogCapture log = new LogCapture();
                Ranks ranks = new Ranks()) {
            CompletableFuture<Bootstrap> own = ranks.start(() -> TcpGroup.join(zero, server));
            int most = 0;
            for (int rank = 1; rank < SIZE; rank++) {
                members.add(new RawMember(TcpGroup.rank(zero, rank, server.port()), key));
                if (rank % 8 == 0) {
                    strangers.add(stranger(server.port(), rank));
                    most = Math.max(most, threads());
                }
            }
            for (RawMember member : members) {
                member.meet();
            }
            Bootstrap hub = Ranks.get(own);
            for (RawMember member : members) {
                assertThat(member.receive().type()).isEqualTo(Frame.Type.RESULT);
            }
            for (int rank = 1; rank < SIZE; rank++) {
                members.get(rank - 1).send(Wire.contribute(Hub.ROOT, "t", new byte[] {(byte) rank}));
            }
            List<byte[]> parts = hub.allGather("t", new byte[1], Ranks.LONG);
            assertThat(parts).hasSize(SIZE);
            assertThat(parts.get(1000)).containsExactly((byte) 1000);
            most = Math.max(most, threads());
            System.out.println(SIZE + " members and " + strangers.size() + " strangers: at most " + most + " threads");
            assertThat(most).isLessThan(200);
            assertThat(hub.state(SIZE - 1)).isEqualTo(MemberState.ALIVE);
            assertThat(log.lines()).hasSizeLessThanOrEqualTo(30);
            for (RawMember member : members) {
                member.send(Wire.leave(Hub.ROOT));
            }
            Ranks.until("all have left", () -> hub.state(SIZE - 1) == MemberState.LEFT);
            hub.close();
        } finally {
            for (RawMember member : members) {
                member.close();
            }
            for (Socket stranger : strangers) {
                stranger.close();
            }
        }
    }

    /** Silent, dripping, garbage and half of a hello. */
    private static Socket stranger(int port, int kind) throws IOException {
        Socket socket = TcpGroup.connect(port);
        switch (kind / 8 % 3) {
            case 0 -> socket.getOutputStream().write(new byte[] {1, 2, 3, 4, 5, 6, 7});
            case 1 -> socket.getOutputStream().write(Hello.NOBODY.bytes(), 0, 20);
            default -> socket.setTcpNoDelay(true);
        }
        return socket;
    }

    private static int threads() {
        return Thread.getAllStackTraces().size();
    }
}
