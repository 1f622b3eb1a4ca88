package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpUnavailableException;

/**
 * The one thread that serves all sockets of a member. Whatever a channel throws, an {@link Error} too, ends that channel
 * alone; the thread goes on until {@link #stop}.
 */
final class Reactor {
    /** A socket with what is to be done for it. All methods are called in the reactor's thread. */
    interface Channel {
        /** The socket is ready for something that it is registered for. */
        void ready(SelectionKey key) throws IOException;

        /** Called again and again, for deadlines; {@code now} is {@link System#nanoTime}. */
        void tick(long now) throws IOException;

        /** One of the others threw, or the reactor ends: the socket is closed next. */
        void broken(Throwable cause);
    }

    static final int SCRATCH_BYTES = 1 << 16;
    private static final long STACK_BYTES = 512 << 10;
    private static final long LONGEST_TICK_NANOS = Duration.ofMillis(100).toNanos();
    private static final long SHORTEST_TICK_NANOS = Duration.ofMillis(5).toNanos();

    private final Selector selector;
    private final Thread thread;
    private final ThrottledLog log = new ThrottledLog(System::nanoTime);
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final ByteBuffer scratch = ByteBuffer.allocateDirect(SCRATCH_BYTES);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean stopped;
    private volatile long tickNanos = LONGEST_TICK_NANOS;
    private long lastTick = System.nanoTime();

    private Reactor(Selector selector, String name) {
        this.selector = selector;
        this.thread = new Thread(null, this::run, name, STACK_BYTES);
        thread.setDaemon(true);
    }

    static Reactor start(String name) {
        Selector selector;
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "no selector for the rendezvous (" + Sockets.describe(e) + "); allow more open files", e);
        }
        boolean started = false;
        try {
            Reactor reactor = new Reactor(selector, name);
            reactor.thread.start();
            started = true;
            return reactor;
        } finally {
            if (!started) {
                Sockets.close(selector);
            }
        }
    }

    /** Warnings about strangers and about what goes wrong with them. */
    ThrottledLog log() {
        return log;
    }

    boolean stopped() {
        return stopped;
    }

    /** Room for one read or write; the reactor's thread alone may use it. */
    ByteBuffer scratch() {
        return scratch.clear();
    }

    /** Makes sure that {@link Channel#tick} comes several times in {@code period}. */
    void tickWithin(Duration period) {
        tickNanos = Math.min(tickNanos, Math.max(SHORTEST_TICK_NANOS, period.toNanos() / 4));
    }

    /** Runs something in the reactor's thread; drops it once the reactor has ended. */
    void execute(Runnable task) {
        if (ended.getCount() > 0) {
            tasks.add(task);
            selector.wakeup();
        }
    }

    /** Runs something in the reactor's thread and waits; false when it was not done in time. */
    boolean call(Runnable task, Deadline deadline) {
        CountDownLatch done = new CountDownLatch(1);
        execute(() -> {
            task.run();
            done.countDown();
        });
        return ended.getCount() > 0 && deadline.await(done);
    }

    /** Serves a socket from now on, or in another way than before. Non-blocking; any thread. */
    void register(SelectableChannel socket, int operations, Channel channel) {
        Runnable register = () -> {
            try {
                socket.register(selector, operations, channel);
            } catch (Throwable e) {
                fail(socket, channel, e);
            }
        };
        if (Thread.currentThread() == thread) {
            register.run();
        } else {
            execute(register);
            if (ended.getCount() == 0) {
                // Too late for the end to find it.
                fail(socket, channel, new IOException("this member has closed its bootstrap"));
            }
        }
    }

    /** Changes what a socket waits for. Reactor's thread alone. */
    void interest(SelectableChannel socket, int operations) {
        SelectionKey key = socket.keyFor(selector);
        if (key != null && key.isValid()) {
            key.interestOps(operations);
        }
    }

    /** Frees what closed sockets hold, which otherwise waits for the next round. Reactor's thread alone. */
    void releaseClosed() {
        try {
            selector.selectNow();
        } catch (IOException e) {
            log.warn("the rendezvous cannot wait for its sockets: " + Sockets.describe(e));
        }
    }

    /** Closes every socket and ends the thread; returns when that is done, or after a second. */
    void stop() {
        stopped = true;
        selector.wakeup();
        if (Thread.currentThread() != thread) {
            Deadline.in(Duration.ofSeconds(1)).await(ended);
        }
    }

    private void run() {
        while (!stopped) {
            try {
                cycle();
            } catch (Throwable e) {
                recover(e);
            }
        }
        end();
    }

    private void cycle() throws IOException {
        selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(tickNanos)));
        Runnable task = tasks.poll();
        while (task != null) {
            guarded(task);
            task = tasks.poll();
        }
        Iterator<SelectionKey> ready = selector.selectedKeys().iterator();
        while (ready.hasNext()) {
            SelectionKey key = ready.next();
            ready.remove();
            Channel channel = (Channel) key.attachment();
            try {
                if (key.isValid()) {
                    channel.ready(key);
                }
            } catch (Throwable e) {
                fail(key.channel(), channel, e);
            }
        }
        long now = System.nanoTime();
        if (now - lastTick >= tickNanos) {
            lastTick = now;
            tickAll(now);
        }
    }

    private void tickAll(long now) {
        log.turn(false);
        for (SelectionKey key : List.copyOf(selector.keys())) {
            Channel channel = (Channel) key.attachment();
            try {
                if (key.isValid()) {
                    channel.tick(now);
                }
            } catch (Throwable e) {
                fail(key.channel(), channel, e);
            }
        }
    }

    private void guarded(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) {
            recover(e);
        }
    }

    private void fail(SelectableChannel socket, Channel channel, Throwable cause) {
        try {
            channel.broken(cause);
        } catch (Throwable e) {
            recover(e);
        } finally {
            Sockets.close(socket);
        }
    }

    /** Lets nothing end the thread; pauses, so that a fault which stays does not take a processor. */
    private void recover(Throwable cause) {
        try {
            log.warn("the rendezvous goes on after a fault: " + cause);
            Thread.sleep(10);
        } catch (Throwable e) {
            // Not even a line can be logged; the sockets still must be served.
            Thread.interrupted();
        }
    }

    private void end() {
        for (SelectionKey key : new ArrayList<>(selector.keys())) {
            fail(key.channel(), (Channel) key.attachment(), new IOException("this member has closed its bootstrap"));
        }
        log.turn(true);
        Sockets.close(selector);
        ended.countDown();
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            guarded(task);
        }
    }
}
