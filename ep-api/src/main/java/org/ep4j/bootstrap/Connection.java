package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An accepted connection with sealed frames in both directions, served by a {@link Reactor}, which also gives a sign of life
 * when there is nothing to write. The other side counts as gone when the stream ends, a frame is not what was sent, or
 * nothing at all arrives for a while.
 */
final class Connection implements Reactor.Channel {
    /** What happens on a connection. Called in the reactor's thread. */
    interface Handler {
        /** A frame arrived; an exception ends the connection. */
        void received(Frame frame) throws IOException;

        /** Nothing more will arrive. Called once; what is sent now may yet reach the other side. */
        void ended(String reason);
    }

    private static final Handler NOBODY = new Handler() {
        @Override
        public void received(Frame frame) throws IOException {
            throw new IOException("received " + frame.type() + " before anybody listened");
        }

        @Override
        public void ended(String reason) {
            // Nobody knows this connection yet.
        }
    };

    /** Reads of one connection before others have their turn. */
    private static final int READS = 16;

    private final Reactor reactor;
    private final SocketChannel socket;
    private final FrameReader reader;
    private final Seal seal;
    private final Duration silence;
    private final long heartbeatNanos;
    private final Queue<Frame> queue = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean flushAsked = new AtomicBoolean();
    private final ArrayDeque<ByteBuffer> outgoing = new ArrayDeque<>();
    private final CountDownLatch readerDone = new CountDownLatch(1);
    private final CountDownLatch writerDone = new CountDownLatch(1);
    private volatile boolean finishing;
    private volatile Handler handler = NOBODY;
    private boolean readEnded;
    private boolean writeEnded;
    private boolean silent;
    private long heard = System.nanoTime();
    private long sent = System.nanoTime();
    private long ticked = System.nanoTime();

    /**
     * A connection that is not yet served.
     *
     * @param in seal of what arrives
     * @param out seal of what is sent
     */
    Connection(Reactor reactor, SocketChannel socket, Seal in, Seal out, Terms terms) {
        this.reactor = reactor;
        this.socket = socket;
        this.reader = new FrameReader(in);
        this.seal = out;
        this.silence = terms.silence();
        this.heartbeatNanos = terms.heartbeat().toNanos();
        reactor.tickWithin(terms.heartbeat());
    }

    /** Begins to receive and to send. */
    void start() {
        reactor.register(socket, SelectionKey.OP_READ, this);
        reactor.execute(this::flush);
    }

    /** Sets the handler of ends; before {@link #start}, or in the reactor's thread. */
    void handler(Handler next) {
        handler = next;
    }

    /** Queues a frame; never blocks. What comes after {@link #finish} is dropped. */
    void send(Frame frame) {
        if (!finishing) {
            queue.add(frame);
            if (flushAsked.compareAndSet(false, true)) {
                reactor.execute(this::flush);
            }
        }
    }

    /** Ends this direction once everything queued is written; the other direction goes on. */
    void finish() {
        finishing = true;
        reactor.execute(this::flush);
    }

    /** Waits until the other side has ended its direction; false when it did not in time. */
    boolean awaitEnd(Deadline deadline) {
        return deadline.await(readerDone);
    }

    /** Waits until {@link #finish} is done; false when it is not in time. */
    boolean awaitFinished(Deadline deadline) {
        return deadline.await(writerDone);
    }

    /** Cuts the connection. */
    void close() {
        reactor.execute(() -> end("its connection was cut", false));
    }

    /** True when this connection ended because nothing was heard for too long. For the reactor's thread. */
    boolean fellSilent() {
        return silent;
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        if (key.isReadable()) {
            read();
        }
        if (key.isValid() && key.isWritable()) {
            write();
        }
    }

    @Override
    public void tick(long now) throws IOException {
        if (readEnded) {
            if (now - heard > silence.toNanos()) {
                shut();
            }
            return;
        }
        if (now - ticked > heartbeatNanos) {
            // This process stood still, and the other side perhaps with it: it has two heartbeats to be heard.
            long least = now - silence.toNanos() + 2 * heartbeatNanos;
            heard = least - heard > 0 ? least : heard;
        }
        ticked = now;
        if (now - heard > silence.toNanos()) {
            read();
            if (!readEnded && now - heard > silence.toNanos()) {
                silent = true;
                end("nothing was heard from it for " + silence.toMillis() + " ms", false);
                return;
            }
        }
        if (!finishing && now - sent >= heartbeatNanos && outgoing.isEmpty() && queue.isEmpty()) {
            send(Frame.HEARTBEAT);
        }
    }

    @Override
    public void broken(Throwable cause) {
        end("its connection broke: " + Sockets.describe(cause), false);
    }

    private void read() throws IOException {
        for (int i = 0; i < READS && !readEnded; i++) {
            ByteBuffer in = reactor.scratch();
            int got = socket.read(in);
            if (got == 0) {
                return;
            }
            if (got < 0) {
                end(
                        reader.between() ? "its connection ended" : "its connection ended in the middle of a message",
                        true);
                return;
            }
            heard = System.nanoTime();
            in.flip();
            // Copied, since a frame's receiver may write, which needs the same room.
            take(ByteBuffer.allocate(got).put(in).flip());
        }
    }

    private void take(ByteBuffer in) {
        try {
            Optional<Frame> frame = reader.next(in);
            while (frame.isPresent() && !readEnded) {
                if (frame.get().type() != Frame.Type.HEARTBEAT) {
                    handler.received(frame.get());
                }
                frame = reader.next(in);
            }
        } catch (IOException | RuntimeException e) {
            broken(e);
        }
    }

    /** Ends both directions; where the other side ended in good order, what is queued may still be written. */
    private void end(String reason, boolean orderly) {
        if (readEnded) {
            shut();
            return;
        }
        readEnded = true;
        heard = System.nanoTime();
        try {
            handler.ended(reason);
        } finally {
            readerDone.countDown();
            finishing = true;
            flush();
            if (!orderly || writeEnded) {
                shut();
            }
        }
    }

    private void flush() {
        flushAsked.set(false);
        if (writeEnded || !socket.isRegistered()) {
            return;
        }
        try {
            write();
        } catch (IOException | RuntimeException e) {
            // What had already arrived is read first; then the reader sees the broken connection too.
            queue.clear();
            outgoing.clear();
            writeEnded = true;
            writerDone.countDown();
            if (readEnded) {
                shut();
            }
        }
    }

    private void write() throws IOException {
        boolean all = !writeEnded;
        while (all && refill()) {
            ByteBuffer out = reactor.scratch();
            for (Iterator<ByteBuffer> i = outgoing.iterator(); i.hasNext() && out.hasRemaining(); ) {
                ByteBuffer next = i.next();
                int count = Math.min(out.remaining(), next.remaining());
                out.put(out.position(), next, next.position(), count);
                out.position(out.position() + count);
            }
            int filled = out.flip().remaining();
            int written = socket.write(out);
            sent = System.nanoTime();
            all = written == filled;
            drop(written);
        }
        reactor.interest(socket, (readEnded ? 0 : SelectionKey.OP_READ) | (all ? 0 : SelectionKey.OP_WRITE));
        if (all && finishing && !writeEnded) {
            writeEnded = true;
            socket.shutdownOutput();
            writerDone.countDown();
        }
        if (writeEnded && readEnded) {
            shut();
        }
    }

    /** Seals queued frames in the order in which they go out; false when nothing is left to write. */
    private boolean refill() {
        long bytes = 0;
        for (ByteBuffer buffer : outgoing) {
            bytes += buffer.remaining();
            if (bytes >= Reactor.SCRATCH_BYTES) {
                return true;
            }
        }
        Frame frame = queue.poll();
        while (frame != null) {
            frame.encode(seal).stream().filter(ByteBuffer::hasRemaining).forEach(outgoing::add);
            bytes += Frame.HEADER_BYTES + frame.length();
            frame = bytes < Reactor.SCRATCH_BYTES ? queue.poll() : null;
        }
        return !outgoing.isEmpty();
    }

    private void drop(int written) {
        int left = written;
        while (left > 0) {
            ByteBuffer first = outgoing.element();
            int count = Math.min(left, first.remaining());
            first.position(first.position() + count);
            left -= count;
            if (!first.hasRemaining()) {
                outgoing.remove();
            }
        }
    }

    private void shut() {
        writeEnded = true;
        queue.clear();
        outgoing.clear();
        Sockets.close(socket);
        writerDone.countDown();
    }
}
