package org.ep4j.tck.ranks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class ReservedPortTest {
    private static final int MANY = 200;

    @Test
    void aReservedPortIsGivenToNoOtherSocket() throws IOException {
        List<ReservedPort> reserved = new ArrayList<>();
        try {
            for (int i = 0; i < MANY; i++) {
                reserved.add(ReservedPort.reserve());
            }
            Set<Integer> numbers = reserved.stream().map(ReservedPort::number).collect(Collectors.toSet());
            assertThat(numbers).hasSize(MANY);
            for (int i = 0; i < 10 * MANY; i++) {
                try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                    assertThat(numbers).doesNotContain(other.getLocalPort());
                }
            }
        } finally {
            reserved.forEach(ReservedPort::close);
        }
    }

    @Test
    void aServerCanListenOnIt() throws IOException {
        try (ServerSocket server = new ServerSocket()) {
            try (ReservedPort port = ReservedPort.reserve()) {
                server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port.number()), 1);
            }
            try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
                    Socket accepted = server.accept()) {
                client.getOutputStream().write(7);
                assertThat(accepted.getInputStream().read()).isEqualTo(7);
            }
        }
    }
}
