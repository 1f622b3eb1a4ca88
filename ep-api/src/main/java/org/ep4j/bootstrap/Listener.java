package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;

/** Opens rank 0's port. */
final class Listener {
    private static final int BACKLOG = 1024;

    private Listener() {}

    /**
     * Listens on the address where one is given (a literal, or {@code localhost}), else on all: a machine's own name often
     * means another address to itself than to others.
     */
    static ServerSocket open(TcpSettings settings) {
        ServerSocket socket = null;
        try {
            socket = new ServerSocket();
            socket.setReuseAddress(true);
            socket.bind(address(settings), BACKLOG);
            return socket;
        } catch (BindException e) {
            Sockets.close(socket == null ? () -> {} : socket);
            throw new EpUnavailableException(
                    "rank 0 cannot listen on " + settings.host() + " port " + settings.port() + " (" + e.getMessage()
                            + "): another process holds the port, or the address is not of this machine; set "
                            + TcpSettings.MASTER_PORT + " or " + EpKeys.BOOTSTRAP_PORT.environmentName()
                            + " to a free port, and " + TcpSettings.MASTER_ADDR + " to where rank 0 runs",
                    e);
        } catch (IOException e) {
            Sockets.close(socket == null ? () -> {} : socket);
            throw new EpUnavailableException(
                    "rank 0 cannot listen on " + settings.host() + " port " + settings.port() + ": " + e.getMessage()
                            + "; set " + TcpSettings.MASTER_ADDR + " to where rank 0 runs",
                    e);
        }
    }

    private static InetSocketAddress address(TcpSettings settings) throws UnknownHostException {
        String host = settings.host();
        boolean exact = host.equalsIgnoreCase("localhost")
                || host.indexOf(':') >= 0
                || host.matches("\\d{1,3}(\\.\\d{1,3}){3}");
        return exact
                ? new InetSocketAddress(InetAddress.getAllByName(host)[0], settings.port())
                : new InetSocketAddress(settings.port());
    }
}
