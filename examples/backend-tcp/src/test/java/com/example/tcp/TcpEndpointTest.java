package com.example.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.Bootstrap;
import org.ep4j.EpFailure;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.writes.TwoRanks;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.posted.CpuCopiedMemory;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedPeer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rank 1, which accepts, and a socket that is bound as rank 0 would bind it. */
@Tag("verify")
@Timeout(60)
final class TcpEndpointTest {
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private final List<Bootstrap> members = Bootstrap.inProcess(2);
    private TcpEndpoint endpoint = endpoint(Duration.ofMinutes(1));
    private final SocketChannel peer = SocketChannel.open();
    private byte[] peerAddress = {};

    TcpEndpointTest() throws IOException {}

    private TcpEndpoint endpoint(Duration timeout) {
        TcpProvider provider = new TcpProvider();
        TwoRanks ranks = new TwoRanks(
                provider,
                TwoRanks.plan(TcpProvider.ID, Map.of(), List.of(), List.of(), 1),
                TwoRanks.config(provider, Map.of()),
                timeout);
        return new TcpEndpoint(ranks.context(members.get(1)), List.of(0));
    }

    @BeforeEach
    void bind() throws IOException {
        peer.bind(new InetSocketAddress(LOOPBACK, 0));
        int port = ((InetSocketAddress) peer.getLocalAddress()).getPort();
        peerAddress = TcpEndpoint.Address.CODEC.encode(new TcpEndpoint.Address("127.0.0.1", Map.of(1, port)));
    }

    @AfterEach
    void close() throws IOException {
        peer.close();
        endpoint.close();
        members.forEach(Bootstrap::close);
    }

    private InetSocketAddress listening(byte[] address) {
        return new InetSocketAddress(
                LOOPBACK, TcpEndpoint.Address.CODEC.decode(address).ports().get(0));
    }

    private PostedConnection<CpuCopiedMemory> accept(byte[] own) {
        EpFailure failure = EpFailure.builder("host-posted writes", 0).build();
        return endpoint.connect(new PostedPeer(0, 0, "rank 0", failure), List.of(peerAddress, own));
    }

    private static String lossOf(PostedConnection<CpuCopiedMemory> connection) {
        Deadline end = Deadline.in(Duration.ofSeconds(30));
        while (!connection.isLost() && !end.passed()) {
            connection.tryProgress();
            LockSupport.parkNanos(100_000);
        }
        return String.valueOf(connection.lostNow().getMessage());
    }

    @Test
    void aStrangerIsNotTakenForThePeer() throws IOException {
        byte[] own = endpoint.address();
        try (Socket stranger = new Socket(LOOPBACK, listening(own).getPort())) {
            peer.connect(listening(own));
            PostedConnection<CpuCopiedMemory> connection = accept(own);
            assertThat(stranger.getInputStream().read()).isNegative();
            assertThat(connection.isLost()).isFalse();
            peer.close();
            assertThat(lossOf(connection)).contains("it has closed the connection");
        }
        assertThatThrownBy(() -> new Socket(LOOPBACK, listening(own).getPort()).close())
                .as("nobody listens once the peer is connected")
                .isInstanceOf(IOException.class);
    }

    @Test
    void aPeerThatDoesNotConnectEndsTheWaitAtTheDeadline() throws IOException {
        endpoint = endpoint(Duration.ofMillis(300));
        byte[] own = endpoint.address();
        try (Socket stranger = new Socket(LOOPBACK, listening(own).getPort())) {
            assertThat(stranger.isConnected()).isTrue();
            assertThatThrownBy(() -> accept(own))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("rank 0");
        }
    }

    @Test
    void aPeerWhoseMessagesAreMalformedIsLost() throws IOException {
        byte[] own = endpoint.address();
        peer.connect(listening(own));
        PostedConnection<CpuCopiedMemory> connection = accept(own);
        peer.write(ByteBuffer.allocate(20).putInt(0, -1));
        assertThat(lossOf(connection))
                .contains(
                        "its messages cannot be trusted",
                        "127.0.0.1:" + peer.socket().getLocalPort());
    }

    @Test
    void aPeerThatClosesInAMessageIsLost() throws IOException {
        byte[] own = endpoint.address();
        peer.connect(listening(own));
        PostedConnection<CpuCopiedMemory> connection = accept(own);
        peer.write(ByteBuffer.allocate(19));
        peer.close();
        assertThat(lossOf(connection)).contains("it has closed the connection in a message");
    }

    @Test
    void whatAPeerIsStillSendingIsReadAtTheEnd() throws Exception {
        byte[] own = endpoint.address();
        peer.connect(listening(own));
        PostedConnection<CpuCopiedMemory> connection = accept(own);
        // Signals to a buffer that is no more; more than one poll reads.
        ByteBuffer signals = ByteBuffer.allocate(20 * 20_000);
        for (int at = 0; at < signals.capacity(); at += 20) {
            signals.putInt(at + 4, 9);
        }
        Thread end = new Thread(() -> connection.end("the test is over"));
        peer.configureBlocking(false);
        peer.write(signals);
        end.start();
        ByteBuffer got = ByteBuffer.allocate(1);
        int read = 0;
        Deadline deadline = Deadline.in(Duration.ofSeconds(30));
        while (read == 0 && !deadline.passed()) {
            // A reset would throw.
            read = peer.read(got);
            LockSupport.parkNanos(100_000);
        }
        assertThat(read).isNegative();
        end.join();
        assertThat(connection.isLost()).isTrue();
    }
}
