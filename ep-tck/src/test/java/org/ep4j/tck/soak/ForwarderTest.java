package org.ep4j.tck.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ForwarderTest {
    private static Socket connect(Map<String, String> environment) throws IOException {
        return new Socket(
                InetAddress.getLoopbackAddress(), Integer.parseInt(environment.getOrDefault("MASTER_PORT", "")));
    }

    @Test
    void forwardsBothDirectionsAndTheEnd() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Forwarder forwarder = new Forwarder(server.getLocalPort());
                Socket near = connect(forwarder.environment());
                Socket far = server.accept()) {
            near.getOutputStream().write(new byte[] {1, 2, 3});
            assertThat(far.getInputStream().readNBytes(3)).containsExactly(1, 2, 3);
            far.getOutputStream().write(new byte[] {4, 5});
            assertThat(near.getInputStream().readNBytes(2)).containsExactly(4, 5);
            near.shutdownOutput();
            assertThat(far.getInputStream().read()).isEqualTo(-1);
        }
    }

    @Test
    void resetsBothSidesOnRequestAndAcceptsNoMore() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Forwarder forwarder = new Forwarder(server.getLocalPort());
                Socket near = connect(forwarder.environment());
                Socket far = server.accept()) {
            near.getOutputStream().write(1);
            assertThat(far.getInputStream().read()).isEqualTo(1);
            Forwarder.requestReset(forwarder.environment());
            assertThatThrownBy(() -> near.getInputStream().read()).isInstanceOf(SocketException.class);
            assertThatThrownBy(() -> far.getInputStream().read()).isInstanceOf(SocketException.class);
            assertThatThrownBy(() -> connect(forwarder.environment()).close()).isInstanceOf(IOException.class);
        }
    }

    /** A rank may connect before rank 0 listens. */
    @Test
    void closesConnectionsThatItCannotForwardAndForwardsTheNext() throws Exception {
        int port;
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = server.getLocalPort();
        }
        try (Forwarder forwarder = new Forwarder(port)) {
            try (Socket early = connect(forwarder.environment())) {
                assertThat(early.getInputStream().read()).isEqualTo(-1);
            }
            try (ServerSocket server = new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
                    Socket near = connect(forwarder.environment());
                    Socket far = server.accept()) {
                near.getOutputStream().write(1);
                assertThat(far.getInputStream().read()).isEqualTo(1);
            }
        }
    }

    @Test
    void aRankWithoutAForwarderIsNamed() {
        assertThatThrownBy(() -> Forwarder.requestReset(Map.of()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("EP_TCK_RESET_PORT");
    }
}
