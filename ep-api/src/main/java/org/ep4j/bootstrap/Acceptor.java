package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * A listening socket and the handshakes of those who came. Every handshake has a deadline of its own, so whoever is slow,
 * silent or a stranger keeps nobody else out; where there are too many at once, the oldest gives way.
 */
final class Acceptor implements Reactor.Channel {
    /** Longest time for one handshake, which takes seconds where many ranks start on few processors. */
    static final Duration HANDSHAKE = Duration.ofSeconds(15);

    /** Handshakes at once beyond one for each rank. */
    static final int SPARE_HANDSHAKES = 32;

    /** Connections accepted before others have their turn. */
    private static final int ACCEPTS = 64;

    private static final long PAUSE_NANOS = Duration.ofMillis(100).toNanos();

    private final Reactor reactor;
    private final ServerSocketChannel listener;
    private final InetSocketAddress address;
    private final Gate gate;
    private final Set<ServerHandshake> handshakes = new LinkedHashSet<>();
    private long pausedUntil = System.nanoTime();

    Acceptor(Reactor reactor, ServerSocketChannel listener, Gate gate) throws IOException {
        this.reactor = reactor;
        this.listener = listener;
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.gate = gate;
    }

    void start() {
        reactor.register(listener, SelectionKey.OP_ACCEPT, this);
    }

    /** Where it listens. */
    InetSocketAddress address() {
        return address;
    }

    Reactor reactor() {
        return reactor;
    }

    /** Closes the port, and ends the handshakes under way; any thread. Returns when the port is free. */
    void close(Deadline deadline) {
        reactor.call(this::shut, deadline);
    }

    /** Closes the port, and ends the handshakes under way; reactor's thread alone. */
    void shut() {
        Sockets.close(listener);
        List.copyOf(handshakes).forEach(handshake -> handshake.end("the rendezvous is over"));
        reactor.releaseClosed();
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        for (int i = 0; i < ACCEPTS && listener.isOpen(); i++) {
            SocketChannel socket = null;
            boolean kept = false;
            try {
                socket = listener.accept();
                if (socket == null) {
                    return;
                }
                handshake(socket);
                kept = true;
            } catch (Throwable e) {
                // Out of memory or of descriptors: this one is given up, and the others wait in the queue of the port.
                pause(e);
                return;
            } finally {
                if (socket != null && !kept) {
                    Sockets.close(socket);
                }
            }
        }
    }

    @Override
    public void tick(long now) {
        if (now - pausedUntil >= 0 && listener.isOpen()) {
            reactor.interest(listener, SelectionKey.OP_ACCEPT);
        }
    }

    @Override
    public void broken(Throwable cause) {
        if (listener.isOpen() && !reactor.stopped()) {
            reactor.log().warn("the rendezvous does not accept any more: " + Sockets.describe(cause));
        }
    }

    /** Notes the end of a handshake. */
    void done(ServerHandshake handshake) {
        handshakes.remove(handshake);
    }

    void refused(String who, String why) {
        if (listener.isOpen()) {
            reactor.log().warn("the rendezvous refused " + who + ": " + why);
        }
    }

    private void handshake(SocketChannel socket) throws IOException {
        socket.configureBlocking(false);
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
        ServerHandshake handshake = new ServerHandshake(
                this, gate, socket, socket.getRemoteAddress().toString());
        if (handshakes.size() >= gate.size() + SPARE_HANDSHAKES) {
            handshakes.iterator().next().end("it waited while too many others came");
        }
        handshakes.add(handshake);
        reactor.register(socket, SelectionKey.OP_READ, handshake);
    }

    private void pause(Throwable cause) {
        reactor.log().warn("the rendezvous could not accept a connection: " + Sockets.describe(cause));
        pausedUntil = System.nanoTime() + PAUSE_NANOS;
        reactor.interest(listener, 0);
    }
}
