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
 * A connection after its handshake: frames in both directions, in {@link Records}. It sends a heartbeat if there is nothing else to
 * send. The other side counts as lost if the stream ends, if a record is not authentic, or if for the time of silence nothing arrives,
 * nothing of what is queued is accepted, or the other side does not end its direction after this side has ended its own.
 */
final class Connection implements IoLoop.ChannelHandler {
    /** Receiver of frames. Called by the thread of the loop. */
    interface Handler {
        /** Handles a frame; an exception ends the connection. */
        void received(Frame frame) throws IOException;

        /** Handles the end of the input. Called once, and again a heartbeat later if it throws. */
        void ended(String reason);
    }

    /**
     * Result of the handshake.
     *
     * @param sent key of the records that this side sends
     * @param received key of the records that the other side sends
     * @param heartbeat pause after which an idle connection sends a heartbeat
     * @param silence time without a record, or without progress of output, after which the other side counts as lost
     */
    @SuppressWarnings("ArrayRecordComponent") // compared by nobody
    record Session(byte[] sent, byte[] received, Duration heartbeat, Duration silence) {}

    /** Two records: rank 0 has buffers for each member and direction. */
    private static final int BUFFER = 2 * Records.MAX_BYTES;

    /** Reads or writes of a buffer in a row before other connections are served. */
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
    /** Created beforehand, since there may be no memory for it when it is needed. */
    private final Runnable closing = this::closeIfAsked;

    private volatile boolean finishing;

    /** Reason for which this side closes the connection; empty before that. */
    private volatile String closeReason = "";

    // The fields below are used by the thread of the loop alone.
    private final Records sealed;
    private final Records opened;
    private final ByteBuffer in = ByteBuffer.allocate(BUFFER);
    private final ByteBuffer out = ByteBuffer.allocate(BUFFER);
    private final Frame.Decoder decoder = new Frame.Decoder();
    private final ArrayDeque<byte[]> unsealed = new ArrayDeque<>();
    private @Nullable Handler handler;
    private @Nullable SelectionKey key;
    private int unsealedFrom;
    private long receivedAt;
    private long sentAt;

    /** Time at which the other side last accepted data, or nothing was queued, or this side ended its direction. */
    private long progressAt;

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

    /** Queues a frame; never waits. After {@link #finish} it is dropped. */
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

    /** Number of records that arrived, heartbeats included. */
    long received() {
        return received.get();
    }

    /** Waits until the other side has ended its direction; returns false at the deadline. Not called by the thread of the loop. */
    boolean awaitEnd(Deadline deadline) {
        return deadline.awaitThroughInterrupts(inputEnded);
    }

    /** Waits until {@link #finish} is done; returns false at the deadline. Not called by the thread of the loop. */
    boolean awaitFinished(Deadline deadline) {
        return deadline.awaitThroughInterrupts(outputEnded);
    }

    /**
     * Closes the connection soon, without a wait. Needs no memory: if there is none, the timer of the loop does it.
     *
     * @param reason for the handler; a constant where memory may be short
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

    /** Ends the connection if {@link #close} was called or an end has failed; returns whether it did. */
    private boolean closeIfAsked() {
        if (closeReason.isEmpty()) {
            return false;
        }
        end(closeReason);
        return true;
    }

    private void flushSoon() {
        if (flushIsPlanned.compareAndSet(false, true)) {
            try {
                loop.execute(() -> {
                    flushIsPlanned.set(false);
                    try {
                        flush();
                    } catch (Throwable e) {
                        // A record may be incomplete.
                        failed(e);
                    }
                });
            } catch (RuntimeException | Error e) {
                flushIsPlanned.set(false);
                throw e;
            }
        }
    }

    @Override
    public void registered(SelectionKey itsKey) throws IOException {
        key = itsKey;
        receivedAt = clock.nanoTime();
        sentAt = receivedAt;
        progressAt = receivedAt;
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
        for (Optional<byte[]> record = opened.open(in); record.isPresent(); record = opened.open(in)) {
            received.incrementAndGet();
            receivedAt = clock.nanoTime();
            for (Frame frame : decoder.add(record.get())) {
                if (handler != null) {
                    handler.received(frame);
                }
            }
        }
    }

    /** Handles the end of the stream: queued output may still reach the other side. */
    private void inputEnds(String reason) throws IOException {
        endInput(reason);
        finishing = true;
        if (closed) {
            return;
        }
        setInterest(false);
        flush();
        closeIfDone();
    }

    private void endInput(String reason) {
        if (inputIsOver) {
            return;
        }
        if (handler != null) {
            handler.ended(reason);
        }
        inputIsOver = true;
        inputEnded.countDown();
    }

    /** Writes queued output, as far as there is room. */
    private void flush() throws IOException {
        if (key == null || !key.isValid() || outputEnded.getCount() == 0) {
            return;
        }
        for (int i = 0; out.hasRemaining() || fill(); i++) {
            if (i == TURNS || !write()) {
                setInterest(outputEnded.getCount() > 0);
                return;
            }
        }
        setInterest(false);
        if (finishing && queue.isEmpty()) {
            channel.shutdownOutput();
            progressAt = clock.nanoTime();
            outputEnded.countDown();
            closeIfDone();
        }
    }

    /** Has this served when there is input, until that is over, and if {@code output} is left, when there is room for it. */
    private void setInterest(boolean output) {
        IoLoop.setInterest(key, (inputIsOver ? 0 : SelectionKey.OP_READ) | (output ? SelectionKey.OP_WRITE : 0));
    }

    /** Writes the buffer; returns false if a part is left, or nothing can be written any more. */
    private boolean write() {
        long now = clock.nanoTime();
        try {
            if (channel.write(out) > 0) {
                progressAt = now;
            }
        } catch (IOException e) {
            // Input may still be there; the connection ends with it.
            finishing = true;
            queue.clear();
            unsealed.clear();
            out.limit(out.position());
            progressAt = now;
            outputEnded.countDown();
            closeIfDone();
            return false;
        }
        if (!out.hasRemaining()) {
            sentAt = now;
        }
        return !out.hasRemaining();
    }

    /** Fills the buffer with records of queued frames; returns false if there are none. */
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
        if (!inputIsOver && now - receivedAt >= silence) {
            // A record may have arrived while this thread could not read.
            read();
        }
        if (now - progressAt >= silence) {
            // The same holds for room to write.
            flush();
        }
        if (closed) {
            return NEVER;
        }
        boolean outputIsOver = outputEnded.getCount() == 0;
        if (!outputIsOver && !out.hasRemaining()) {
            progressAt = now;
        }
        long quiet = inputIsOver ? NEVER : silence - (now - receivedAt);
        // After shutdownOutput this side waits for the other one's end of stream; heartbeats do not extend the wait.
        long untaken = silence - (now - progressAt);
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
        // Text can be concatenated only while there is memory for it.
        end(
                failure instanceof OutOfMemoryError
                        ? "memory ran out while its messages were handled"
                        : "its connection broke: " + Sockets.describe(failure));
    }

    /** Ends both directions. If a step fails, the timer repeats this: the hub must be notified, and the loop drop the channel. */
    private void end(String reason) {
        if (closed) {
            return;
        }
        if (closeReason.isEmpty()) {
            closeReason = reason;
        }
        finishing = true;
        IoLoop.setInterest(key, 0);
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
