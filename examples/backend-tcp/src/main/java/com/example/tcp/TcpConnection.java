package com.example.tcp;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import org.ep4j.EpTraffic;
import org.ep4j.transport.posted.CpuCopiedMemory;
import org.ep4j.transport.posted.LaneTraffic;
import org.ep4j.transport.posted.PostedConnection;
import org.ep4j.transport.posted.PostedPeer;

/** Messages to and from one peer. TCP keeps their order, as counters need it. */
final class TcpConnection extends PostedConnection<CpuCopiedMemory> {
    private final SocketChannel channel;
    private final CpuCopiedMemory.Messages messages;
    private final LaneTraffic traffic = new LaneTraffic(0, TcpProvider.ID);
    private String writeError = "";

    TcpConnection(PostedPeer peer, Duration timeout, SocketChannel channel, CpuCopiedMemory.Buffers buffers) {
        super(peer, timeout);
        this.channel = channel;
        this.messages = new CpuCopiedMemory.Messages(buffers, peer.index());
    }

    @Override
    protected void post(CpuCopiedMemory memory, long target, long source, long bytes, boolean message) {
        for (long at = 0; at < bytes; at += CpuCopiedMemory.MOST_DATA) {
            int length = (int) Math.min(CpuCopiedMemory.MOST_DATA, bytes - at);
            await("room for a message", messages::hasRoom);
            messages.addWrite(memory, target + at, source + at, length);
            traffic.write(length);
        }
    }

    @Override
    protected void postSignal(CpuCopiedMemory memory, int counter, long[] sent, long value) {
        await("room for a message", messages::hasRoom);
        messages.addSignal(memory, counter, value);
        sent[counter] = value;
        traffic.signal();
        progress();
    }

    @Override
    protected boolean poll(int polls) {
        int sent = 0;
        int received = 0;
        try {
            sent = channel.socket().isOutputShutdown() ? 0 : messages.send(channel);
        } catch (IOException e) {
            // Reading fails, too, once it has read everything that the peer had sent.
            writeError = ", after a write failed: " + e.getMessage();
        }
        try {
            received = messages.receive(channel);
        } catch (IOException e) {
            lose(channel.socket().getRemoteSocketAddress() + ": " + e.getMessage() + writeError, peer().failure());
        }
        return sent > 0 || received > 0;
    }

    /** Bytes that the socket has not taken. All others arrive without this rank, as long as the connection lasts. */
    @Override
    protected int inFlight() {
        return messages.waiting();
    }

    /** What waits here was copied: nothing reads the memory of a buffer any more. */
    @Override
    protected int sourcesInFlight() {
        return 0;
    }

    @Override
    protected Backlog backlog() {
        return new Backlog(messages.waiting() + " bytes that the socket has not taken", 0, messages.waiting());
    }

    /** Reads what is there: to close a socket with unread bytes would reset it, and the peer would lose messages on the way. */
    @Override
    protected void notifyEnd() {
        poll(1);
        try {
            channel.shutdownOutput();
        } catch (IOException e) {
            // The connection has broken before.
        }
        for (int polls = 0; polls < 256 && poll(1); polls++) {
            // More than sockets hold, and not without end where a peer continues to write.
        }
    }

    @Override
    protected void stop() {
        TcpEndpoint.close(channel);
    }

    @Override
    public EpTraffic traffic() {
        return EpTraffic.of(TcpProvider.ID, peer().rank(), 0, List.of(traffic.read(!isLost())));
    }
}
