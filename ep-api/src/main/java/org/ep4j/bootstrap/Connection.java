package org.ep4j.bootstrap;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.spi.NanoClock;

/**
 * An accepted connection: one daemon thread reads, one writes and gives a sign of life when there is nothing to write. The
 * other side counts as gone when the stream ends or nothing at all arrives for a while.
 */
final class Connection {
    /** What happens on a connection. Called from its reading thread. */
    interface Handler {
        /** A frame arrived; an exception ends the connection. */
        void received(Frame frame) throws IOException;

        /** Nothing more will arrive. Called once. */
        void ended(String reason);
    }

    private static final int BUFFER = 1 << 16;

    /** Enough for these threads, so that a server of many members stays small. */
    private static final long STACK_BYTES = 256 << 10;

    private final Socket socket;
    private final String name;
    private final Duration heartbeat;
    private final Duration silence;
    private final NanoClock clock;
    private final BlockingQueue<Frame> queue = new LinkedBlockingQueue<>();
    private final CountDownLatch readerDone = new CountDownLatch(1);
    private final CountDownLatch writerDone = new CountDownLatch(1);
    private final AtomicLong received = new AtomicLong();
    private volatile boolean finishing;

    Connection(Socket socket, String name, Duration heartbeat, Duration silence, NanoClock clock) {
        this.socket = socket;
        this.name = name;
        this.heartbeat = heartbeat;
        this.silence = silence;
        this.clock = clock;
    }

    /** Starts both threads. */
    void start(Handler handler) {
        daemon(name + "-read", () -> readAll(handler));
        daemon(name + "-write", this::writeAll);
    }

    /** Queues a frame; never blocks. What comes after {@link #finish} is dropped. */
    void send(Frame frame) {
        if (!finishing) {
            queue.add(frame);
        }
    }

    /** Ends this direction once everything queued is written; the other direction goes on. */
    void finish() {
        finishing = true;
        // Wakes the writer; an extra sign of life does no harm.
        queue.add(Frame.HEARTBEAT);
    }

    /** How often something arrived, signs of life too. */
    long received() {
        return received.get();
    }

    /** Waits until the other side has ended its direction; false when it did not in time. */
    boolean awaitEnd(Deadline deadline) {
        return deadline.awaitThroughInterrupts(readerDone);
    }

    /** Waits until {@link #finish} is done; false when it is not in time. */
    boolean awaitFinished(Deadline deadline) {
        return deadline.awaitThroughInterrupts(writerDone);
    }

    /** Cuts the connection. */
    void close() {
        finish();
        Sockets.close(socket);
    }

    private void readAll(Handler handler) {
        String reason = "its connection ended";
        boolean orderly = false;
        try {
            var in = new DataInputStream(new BufferedInputStream(new Heard(socket.getInputStream()), BUFFER));
            Optional<Frame> frame = Frame.read(in);
            while (frame.isPresent()) {
                handler.received(frame.get());
                frame = Frame.read(in);
            }
            orderly = true;
        } catch (SocketTimeoutException e) {
            reason = "nothing was heard from it for " + silence.toMillis() + " ms";
        } catch (EOFException e) {
            reason = "its connection ended in the middle of a message";
        } catch (IOException | RuntimeException e) {
            reason = "its connection broke: " + Sockets.describe(e);
        } finally {
            // Also when memory runs out: the others must not wait for a connection that nobody reads.
            handler.ended(reason);
            readerDone.countDown();
            finish();
            if (orderly) {
                // What is still queued may yet reach the other side; bounded, since it may have stopped reading.
                awaitFinished(Deadline.in(silence, clock));
            }
            Sockets.close(socket);
        }
    }

    private void writeAll() {
        try {
            var out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), BUFFER));
            while (!finishing || !queue.isEmpty()) {
                Frame frame = queue.poll();
                if (frame == null) {
                    out.flush();
                    frame = queue.poll(heartbeat.toMillis(), TimeUnit.MILLISECONDS);
                }
                (frame == null ? Frame.HEARTBEAT : frame).write(out);
            }
            out.flush();
            socket.shutdownOutput();
        } catch (IOException e) {
            // The reading thread sees the broken connection too, after it has read what had already arrived.
            queue.clear();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        writerDone.countDown();
    }

    /** What the other side sends; a read ends with a {@link SocketTimeoutException} once it was silent for too long. */
    private final class Heard extends InputStream {
        private final InputStream in;

        Heard(InputStream in) {
            this.in = in;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            Deadline deadline = Deadline.in(silence, clock);
            while (true) {
                socket.setSoTimeout(deadline.sleepMillis());
                try {
                    int got = in.read(bytes, offset, length);
                    received.incrementAndGet();
                    return got;
                } catch (SocketTimeoutException e) {
                    if (deadline.passed()) {
                        throw e;
                    }
                }
            }
        }
    }

    private static void daemon(String name, Runnable work) {
        Thread thread = new Thread(null, work, name, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }
}
