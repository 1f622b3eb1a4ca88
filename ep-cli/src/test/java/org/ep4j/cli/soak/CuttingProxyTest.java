package org.ep4j.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
final class CuttingProxyTest {
    @Test
    void bytesPassUntilTheConnectionIsReset() throws IOException {
        InetAddress here = InetAddress.getLoopbackAddress();
        try (ServerSocket server = new ServerSocket(0, 10, here);
                CuttingProxy proxy = new CuttingProxy(server.getLocalPort());
                Socket client = new Socket(here, proxy.port());
                Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            assertThat(accepted.getInputStream().read()).isEqualTo(7);
            accepted.getOutputStream().write(9);
            assertThat(client.getInputStream().read()).isEqualTo(9);
            assertThat(proxy.cut(Integer.MAX_VALUE)).isEqualTo(1);
            assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketException.class);
            assertThatThrownBy(() -> accepted.getInputStream().read()).isInstanceOf(SocketException.class);
            assertThat(proxy.cut(Integer.MAX_VALUE)).isZero();
        }
    }

    @Test
    void aConnectionWaitsForThePortBehindIt() throws IOException {
        InetAddress here = InetAddress.getLoopbackAddress();
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, here)) {
            port = free.getLocalPort();
        }
        try (CuttingProxy proxy = new CuttingProxy(port);
                Socket client = new Socket(here, proxy.port());
                ServerSocket server = new ServerSocket(port, 10, here);
                Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            assertThat(accepted.getInputStream().read()).isEqualTo(7);
        }
    }
}
