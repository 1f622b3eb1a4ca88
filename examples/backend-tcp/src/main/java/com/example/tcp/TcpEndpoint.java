package com.example.tcp;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.RecordCodec;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.posted.CpuCopiedMemory;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedEndpoint;
import org.ep4j.transport.posted.PostedMemory.Registrations;
import org.ep4j.transport.posted.PostedPeer;

/** The sockets of one rank, one for each peer: the lower rank of a pair connects, the higher one accepts. */
final class TcpEndpoint implements PostedEndpoint<CpuCopiedMemory> {
    private final OpenContext context;
    private final List<Integer> peers;
    private final String host;
    private final Deadline deadline;
    private final Map<Integer, NetworkChannel> sockets = new HashMap<>();
    private final CpuCopiedMemory.Buffers buffers = new CpuCopiedMemory.Buffers();

    /** What the peers of a rank need to know: its address, and the port of its socket for each of them. */
    record Address(String host, Map<Integer, Integer> ports) {
        static final RecordCodec<Address> CODEC = new RecordCodec<>(MethodHandles.lookup(), Address.class, "ports", 1);
    }

    TcpEndpoint(OpenContext context, List<Integer> peers) {
        this.context = context;
        this.peers = peers;
        this.host = TcpProvider.ADDRESS.get(context.config());
        this.deadline = Deadline.in(context.timeout());
    }

    @Override
    public byte[] address() {
        Map<Integer, Integer> ports = new HashMap<>();
        try {
            for (int peer : peers) {
                NetworkChannel socket = context.rank() < peer ? SocketChannel.open() : ServerSocketChannel.open();
                sockets.put(peer, socket);
                socket.bind(new InetSocketAddress(InetAddress.getByName(host), 0));
                ports.put(peer, ((InetSocketAddress) socket.getLocalAddress()).getPort());
            }
        } catch (IOException e) {
            throw new EpUnavailableException("no sockets on " + host + ": " + e + "; set ep.tcp.address", e);
        }
        return Address.CODEC.encode(new Address(host, ports));
    }

    @Override
    public PostedConnection<CpuCopiedMemory> connect(PostedPeer peer, List<byte[]> addresses) {
        Address to = Address.CODEC.decode(addresses.get(peer.index()));
        InetSocketAddress theirs = new InetSocketAddress(to.host(), to.ports().get(context.rank()));
        try {
            if (sockets.get(peer.rank()) instanceof ServerSocketChannel server) {
                sockets.put(peer.rank(), accept(server.socket(), theirs));
                server.close();
            } else {
                ((SocketChannel) sockets.get(peer.rank())).socket().connect(theirs, deadline.remainingMillis());
            }
            SocketChannel channel = (SocketChannel) sockets.get(peer.rank());
            // Small writes leave at once, and no call waits in the socket: PostedConnection has the deadlines.
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true).configureBlocking(false);
            return new TcpConnection(peer, EpKeys.TIMEOUT.get(context.config()), channel, buffers);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "no connection to " + peer.label() + " at " + theirs + ": " + e + "; check firewalls", e);
        }
    }

    private SocketChannel accept(ServerSocket server, InetSocketAddress theirs) throws IOException {
        do {
            server.setSoTimeout(deadline.remainingMillis());
            SocketChannel channel = server.accept().getChannel();
            if (channel.getRemoteAddress().equals(theirs)) {
                return channel;
            }
            // A stranger: only the peer can connect from a port that the peer has bound.
            channel.close();
        } while (!deadline.passed());
        throw new SocketTimeoutException("only others connected");
    }

    @Override
    public CpuCopiedMemory register(ExposedMemory memory, Registrations registrations) {
        return buffers.add(memory, context.ranks().size(), registrations);
    }

    @Override
    public void close() {
        sockets.values().forEach(TcpEndpoint::close);
    }

    static void close(NetworkChannel socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // The descriptor is free all the same.
        }
    }

    @Override
    public String toString() {
        return host;
    }
}
