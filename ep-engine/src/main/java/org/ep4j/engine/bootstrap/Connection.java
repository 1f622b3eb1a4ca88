package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * A connection after its handshake: frames in both directions, in {@link Records}. It sends a heartbeat if there is nothing else to send. The
 * other side counts as lost if the stream ends, if it carries anything that the other side has not sent, if nothing arrives for a while, if it
 * takes nothing of what is queued for a while, or if it does not end its direction a while after this side has ended its own.
 */
final class Connection implements IoLoop.ChannelHandler {
    /** What happens on a connection. Called by the thread of its loop. */
    interface Handler {
        /** Takes a frame; an exception ends the connection. */
        void received(Frame frame) throws IOException;

        /** Takes note that nothing more will arrive. Called once, and again a heartbeat later if it throws. */
        void ended(String reason);
    }

    /**
     * What the handshake has agreed on.
     *
     * @param sent key of what this side sends
     * @param received key of what the other side sends
     * @param heartbeat pause after which an idle connection carries a heartbeat
     * @param silence time without a record, or without progress of what is sent, after which the other side counts as lost
     */
    @SuppressWarnings("ArrayRecordComponent") // compared by nobody
    record Session(byte[] sent, byte[] received, Duration heartbeat, Duration silence) {}

    /** Two records at once, in both directions: rank 0 has buffers for each member. */
    private static final int BUFFER = 2 * Records.MAX_BYTES;

    /** Reads or writes of a buffer in a row before other connections have their turn. */
    private static final int TURNS = 16;

    private static final long NEVER = Long.MAX_VALUE / 4;

    private final SocketChannel channel;
    private final IoLoop loop;
    private final Session session;
    private final NanoClock clock;
    private final Queue<Frame> queue = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean flushIsPlanned = new AtomicBoolean();
    private final CountDownLatch inputEnded = new CountDownLatch(1);
    private final CountDownLatch outputEnded = new CountDownLatch(1);
    private final AtomicLong received = new AtomicLong();
    /** Made beforehand, since there may be no memory for it when it is needed. */
    private final Runnable closing = this::closeIfAsked;

    private volatile boolean finishing;

    /** Reason for which this side cuts the connection; empty while it does not. */
    private volatile String closeReason = "";

    // From here on: used by the thread of the loop alone.
    private final Records sealed;
    private final Records opened;
    private final ByteBuffer in = ByteBuffer.allocate(BUFFER);
    private final ByteBuffer out = ByteBuffer.allocate(BUFFER);
    private final Frame.Decoder decoder = new Frame.Decoder();
    private final ArrayDeque<byte[]> unsealed = new ArrayDeque<>();
    private @Nullable Handler handler;
    private @Nullable SelectionKey key;
    private int unsealedFrom;
    private long heardAt;
    private long sentAt;

    /** Time at which the other side last took some of what is queued, or nothing was queued, or this side ended its direction. */
    private long takenAt;

    private boolean inputIsOver;
    private boolean closed;

    Connection(SocketChannel channel, IoLoop loop, Session session, NanoClock clock) {
        this.channel = channel;
        this.loop = loop;
        this.session = session;
        this.clock = clock;
        sealed = new Records(session.sent());
        opened = new Records(session.received());
        // Nothing to write yet.
        out.limit(0);
    }

    void start(Handler to) {
        handler = to;
        loop.register(channel, SelectionKey.OP_READ, this);
    }

    /** Queues a frame; never waits. What comes after {@link #finish} is dropped. */
    void send(Frame frame) {
        if (!finishing) {
            queue.add(frame);
            flushSoon();
        }
    }

    /** Ends this direction once everything queued is written; the other direction goes on. */
    void finish() {
        finishing = true;
        flushSoon();
    }

    /** Number of records that arrived, heartbeats too. */
    long received() {
        return received.get();
    }

    /** Waits until the other side has ended its direction; false when it did not in time. Not in the thread of the loop. */
    boolean awaitEnd(Deadline deadline) {
        return deadline.awaitThroughInterrupts(inputEnded);
    }

    /** Waits until {@link #finish} is done; false when it is not in time. Not in the thread of the loop. */
    boolean awaitFinished(Deadline deadline) {
        return deadline.awaitThroughInterrupts(outputEnded);
    }

    /**
     * Cuts the connection soon, without a wait. Needs no memory: if there is none, the timer of the loop does it.
     *
     * @param reason that the handler gets; a constant where memory may be short
     */
    void close(String reason) {
        if (closeReason.isEmpty()) {
            closeReason = reason;
        }
        finishing = true;
        try {
            loop.execute(closing);
        } catch (Throwable e) {
            // The timer does it.
            loop.wakeUp();
        }
    }

    /** Ends the connection if {@link #close} was called or an end has failed; true if so. */
    private boolean closeIfAsked() {
        if (closeReason.isEmpty()) {
            return false;
        }
        end(closeReason);
        return true;
    }

    private void flushSoon() {
        if (flushIsPlanned.compareAndSet(false, true)) {
            boolean planned = false;
            try {
                loop.execute(() -> {
                    flushIsPlanned.set(false);
                    try {
                        flush();
                    } catch (Throwable e) {
                        // Half a record may have been made.
                        failed(e);
                    }
                });
                planned = true;
            } finally {
                if (!planned) {
                    flushIsPlanned.set(false);
                }
            }
        }
    }

    @Override
    public void registered(SelectionKey itsKey) throws IOException {
        key = itsKey;
        heardAt = clock.nanoTime();
        sentAt = heardAt;
        takenAt = heardAt;
        flush();
    }

    @Override
    public void ready() throws IOException {
        if (!closeIfAsked()) {
            read();
            flush();
        }
    }

    private void read() throws IOException {
        for (int i = 0; i < TURNS && !inputIsOver; i++) {
            int got = channel.read(in);
            if (got < 0) {
                boolean whole = in.position() == 0 && decoder.isBetweenFrames();
                inputEnds(whole ? "its connection ended" : "its connection ended in the middle of a message");
                return;
            }
            if (got == 0) {
                return;
            }
            in.flip();
            try {
                takeRecords();
            } finally {
                in.compact();
            }
        }
    }

    private void takeRecords() throws IOException {
        Handler to = handler;
        for (Optional<byte[]> record = opened.open(in); record.isPresent(); record = opened.open(in)) {
            received.incrementAndGet();
            heardAt = clock.nanoTime();
            for (Frame frame : decoder.add(record.get())) {
                if (to != null) {
                    to.received(frame);
                }
            }
        }
    }

    /** Nothing more arrives, and what is queued may yet reach the other side. */
    private void inputEnds(String reason) throws IOException {
        endInput(reason);
        finishing = true;
        if (closed) {
            return;
        }
        SelectionKey mine = key;
        if (mine != null && mine.isValid()) {
            mine.interestOps(mine.interestOps() & ~SelectionKey.OP_READ);
        }
        flush();
        closeIfDone();
    }

    private void endInput(String reason) {
        if (inputIsOver) {
            return;
        }
        Handler to = handler;
        if (to != null) {
            to.ended(reason);
        }
        inputIsOver = true;
        inputEnded.countDown();
    }

    /** Writes what is queued, as far as there is room. */
    private void flush() throws IOException {
        SelectionKey mine = key;
        if (mine == null || !mine.isValid() || outputEnded.getCount() == 0) {
            return;
        }
        for (int i = 0; out.hasRemaining() || fill(); i++) {
            if (i == TURNS || !write()) {
                if (outputEnded.getCount() > 0) {
                    mine.interestOps(mine.interestOps() | SelectionKey.OP_WRITE);
                }
                return;
            }
        }
        mine.interestOps(mine.interestOps() & ~SelectionKey.OP_WRITE);
        if (finishing && queue.isEmpty()) {
            channel.shutdownOutput();
            takenAt = clock.nanoTime();
            outputEnded.countDown();
            closeIfDone();
        }
    }

    /** Writes what is in the buffer; false if something is left, or nothing can be written any more. */
    private boolean write() {
        long now = clock.nanoTime();
        try {
            if (channel.write(out) > 0) {
                takenAt = now;
            }
        } catch (IOException e) {
            // What the other side sent before may still be there to read; the connection ends when that does.
            finishing = true;
            queue.clear();
            unsealed.clear();
            out.limit(out.position());
            takenAt = now;
            outputEnded.countDown();
            SelectionKey mine = key;
            if (mine != null && mine.isValid()) {
                mine.interestOps(mine.interestOps() & ~SelectionKey.OP_WRITE);
            }
            closeIfDone();
            return false;
        }
        if (!out.hasRemaining()) {
            sentAt = now;
        }
        return !out.hasRemaining();
    }

    /** Makes records of what is queued; false if there is nothing. */
    private boolean fill() {
        out.clear();
        while (out.remaining() >= Records.MAX_BYTES) {
            byte[] payload = loop.scratch();
            int length = nextPayload(payload);
            if (length == 0) {
                break;
            }
            sealed.seal(payload, length, out);
        }
        out.flip();
        return out.hasRemaining();
    }

    private int nextPayload(byte[] payload) {
        int length = 0;
        while (length < payload.length) {
            if (unsealed.isEmpty()) {
                Frame next = queue.poll();
                if (next == null) {
                    break;
                }
                unsealed.addAll(next.pieces());
                unsealedFrom = 0;
            }
            byte[] piece = unsealed.element();
            int bytes = Math.min(piece.length - unsealedFrom, payload.length - length);
            System.arraycopy(piece, unsealedFrom, payload, length, bytes);
            length += bytes;
            unsealedFrom += bytes;
            if (unsealedFrom == piece.length) {
                unsealed.remove();
                unsealedFrom = 0;
            }
        }
        return length;
    }

    @Override
    public long onTimer(long now) throws IOException {
        if (closed || closeIfAsked()) {
            return NEVER;
        }
        long silence = session.silence().toNanos();
        if (!inputIsOver && now - heardAt >= silence) {
            // It may have come while this thread was kept from reading.
            read();
        }
        if (now - takenAt >= silence) {
            // The same holds for room to write.
            flush();
        }
        if (closed) {
            return NEVER;
        }
        boolean outputIsOver = outputEnded.getCount() == 0;
        if (!outputIsOver && !out.hasRemaining()) {
            takenAt = now;
        }
        long quiet = inputIsOver ? NEVER : silence - (now - heardAt);
        // After shutdownOutput this side waits for the end of stream of the other one; heartbeats do not extend the
        // wait.
        long untaken = silence - (now - takenAt);
        if (quiet <= 0 || untaken <= 0) {
            String time = session.silence().toMillis() + " ms";
            end(
                    quiet <= 0
                            ? "its connection was silent for " + time
                            : outputIsOver
                                    ? "its connection was not closed within " + time
                                    : "its connection accepted no data for " + time);
            return NEVER;
        }
        if (outputIsOver) {
            return Math.min(quiet, untaken);
        }
        if (now - sentAt >= session.heartbeat().toNanos()) {
            if (!out.hasRemaining() && queue.isEmpty() && !finishing) {
                queue.add(Frame.HEARTBEAT);
            }
            flush();
        }
        long idle = session.heartbeat().toNanos() - (now - sentAt);
        return Math.min(
                Math.min(quiet, untaken), idle <= 0 ? session.heartbeat().toNanos() : idle);
    }

    @Override
    public void failed(Throwable failure) {
        end(reason(failure));
    }

    private static String reason(Throwable failure) {
        // Text can be joined only while there is memory for it.
        return failure instanceof OutOfMemoryError
                ? "memory ran out while its messages were handled"
                : "its connection broke: " + Sockets.describe(failure);
    }

    /** Ends both directions. Where a step fails, the timer does this again: the hub must learn of it, and the loop forget the channel. */
    private void end(String reason) {
        if (closed) {
            return;
        }
        if (closeReason.isEmpty()) {
            closeReason = reason;
        }
        finishing = true;
        SelectionKey mine = key;
        if (mine != null && mine.isValid()) {
            mine.interestOps(0);
        }
        queue.clear();
        unsealed.clear();
        outputEnded.countDown();
        endInput(closeReason);
        Sockets.close(channel);
        closed = true;
    }

    private void closeIfDone() {
        if (inputIsOver && outputEnded.getCount() == 0) {
            closed = true;
            Sockets.close(channel);
        }
    }
}
