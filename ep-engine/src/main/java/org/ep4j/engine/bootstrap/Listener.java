package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;

/** Opens rank 0's port. */
record Listener(TcpSettings settings, Listener.HostNames names) {
    private static final int BACKLOG = 1024;

    /** A port of this machine answers at once. */
    private static final int CONNECT_MILLIS = 2000;

    /** Finds the addresses of a name, as {@link InetAddress#getAllByName} does. */
    @FunctionalInterface
    interface HostNames {
        InetAddress[] addresses(String name) throws UnknownHostException;
    }

    /**
     * Listens on the address if one is given (a literal, or {@code localhost}), else on all: a machine's own name often resolves to
     * another address on the machine than elsewhere. If interfaces are required, the address is one of theirs.
     */
    ServerSocketChannel open() {
        if (settings.storePort() > 0 && isElsewhere() && !isListening(settings.storePort())) {
            throw elsewhere();
        }
        ServerSocketChannel channel = null;
        try {
            SocketAddress address = address();
            channel = ServerSocketChannel.open();
            channel.socket().setReuseAddress(true);
            channel.socket().bind(address, BACKLOG);
            return channel;
        } catch (IOException e) {
            if (channel != null) {
                Sockets.close(channel);
            }
            throw new EpUnavailableException(
                    "rank 0 cannot listen on " + settings.host() + " port " + settings.port() + " ("
                            + Sockets.describe(e) + "): " + remedy(e),
                    e);
        }
    }

    /** Agents of torchrun with a dynamic rendezvous number ranks in the order in which they arrive, wherever their store is. */
    private EpUnavailableException elsewhere() {
        return new EpUnavailableException("torchrun started rank 0 on this machine, but the other ranks connect to "
                + TcpSettings.MASTER_ADDR + " = " + settings.host()
                + "; this machine has neither that address nor torchrun's"
                + " store on port " + settings.storePort()
                + "; start torchrun with --rdzv-backend=static --master-addr=HOST"
                + " --node-rank=N, where N is 0 on HOST, or set " + EpKeys.BOOTSTRAP_ADDRESS.environmentName()
                + " on all ranks to the machine of rank 0");
    }

    /** Returns whether this machine listens on a port: an address that is forwarded to it is none of its own. */
    private static boolean isListening(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), CONNECT_MILLIS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private String remedy(IOException e) {
        if (!(e instanceof BindException)) {
            return "set " + TcpSettings.MASTER_ADDR + " to the machine of rank 0";
        }
        return isElsewhere()
                ? "this machine does not have the address; start rank 0 on the machine that " + TcpSettings.MASTER_ADDR
                        + " names, or set " + TcpSettings.MASTER_ADDR + " or "
                        + EpKeys.BOOTSTRAP_ADDRESS.environmentName()
                        + " to the machine on which rank 0 runs"
                : "another process holds the port; set " + TcpSettings.MASTER_PORT + " or "
                        + EpKeys.BOOTSTRAP_PORT.environmentName() + " to a free one";
    }

    /** Returns whether the host has addresses, and none of them is of this machine. */
    private boolean isElsewhere() {
        try {
            for (InetAddress address : names.addresses(settings.host())) {
                if (address.isAnyLocalAddress()
                        || address.isLoopbackAddress()
                        || NetworkInterface.getByInetAddress(address) != null) {
                    return false;
                }
            }
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private InetSocketAddress address() throws IOException {
        ChosenInterfaces interfaces = settings.interfaces();
        if (settings.hostIsExact()) {
            InetAddress address = names.addresses(settings.host())[0];
            // Binding to an address of another machine fails, as without a choice of interfaces.
            boolean here = address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
            return new InetSocketAddress(
                    here ? interfaces.reachable(List.of(address), true).get(0) : address, settings.port());
        }
        return interfaces.required()
                ? new InetSocketAddress(named(), settings.port())
                : new InetSocketAddress(settings.port());
    }

    /** Returns the address of the chosen interfaces to which the host resolves; if there is none, the host's address is forwarded. */
    private InetAddress named() {
        ChosenInterfaces interfaces = settings.interfaces();
        try {
            return interfaces.reachable(List.of(names.addresses(settings.host())), false).stream()
                    .filter(interfaces::has)
                    .findFirst()
                    .orElseGet(interfaces::first);
        } catch (UnknownHostException e) {
            return interfaces.first();
        }
    }
}
