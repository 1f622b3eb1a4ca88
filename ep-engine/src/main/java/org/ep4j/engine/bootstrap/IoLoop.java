package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.ep4j.EpResourceException;
import org.ep4j.transport.NanoClock;
import org.jspecify.annotations.Nullable;

/** A thread that serves any number of connections. A failure of one of them ends neither the thread nor the others. */
final class IoLoop implements AutoCloseable {
    private static final Logger LOG = System.getLogger(IoLoop.class.getName());

    private static final long STACK_BYTES = 256 << 10;

    /** Pause of the thread after it failed to select. */
    private static final int PAUSE_MILLIS = 100;

    private final NanoClock clock;
    private final Selector selector;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private long timerAt;
    private volatile boolean timersAreDue;
    private volatile boolean closing;
    private volatile boolean closingWhenIdle;
    private volatile boolean ended;
    private final byte[] scratch = new byte[Records.MAX_PAYLOAD];

    /** Handles one channel of a loop. All methods are called by the thread of the loop. */
    interface ChannelHandler {
        /** Receives the key of the channel. Called once, before the other methods except {@link #failed}. */
        void registered(SelectionKey key) throws IOException;

        /** Reads and writes as far as possible without a wait. */
        void ready() throws IOException;

        /**
         * Sends a heartbeat if due, and ends a connection that is silent.
         *
         * @param now time of the loop's clock
         * @return nanoseconds until the next call
         */
        long onTimer(long now) throws IOException;

        /** Ends the connection. May be called again. */
        void failed(Throwable failure);
    }

    /**
     * Starts the thread.
     *
     * @throws EpResourceException if the system has no descriptor or no thread for it
     */
    IoLoop(String name, NanoClock clock) {
        this.clock = clock;
        try {
            selector = Selector.open();
        } catch (IOException | OutOfMemoryError e) {
            throw cannotStart(name, e);
        }
        try {
            timerAt = clock.nanoTime();
            Thread thread = new Thread(null, this::run, name, STACK_BYTES);
            thread.setDaemon(true);
            thread.start();
        } catch (RuntimeException | Error e) {
            Sockets.close(selector);
            if (e instanceof OutOfMemoryError) {
                throw cannotStart(name, e);
            }
            throw e;
        }
    }

    private static EpResourceException cannotStart(String name, Throwable cause) {
        return new EpResourceException(
                "the thread \"" + name + "\" of the rendezvous cannot be started (" + cause.getMessage()
                        + "); raise the limits of processes and open files (ulimit -u, ulimit -n, pids.max of the container)",
                cause);
    }

    /** Runs a task in the thread of the loop; in this thread if the loop has ended. */
    void execute(Runnable task) {
        tasks.add(task);
        if (ended) {
            runTasks();
        } else {
            selector.wakeup();
        }
    }

    /** A buffer for the running task or handler; its content is lost afterwards. */
    byte[] scratch() {
        return scratch;
    }

    /** Serves a channel with this handler from now on, in place of an earlier one. A failure of this is passed to the handler. */
    void register(SelectableChannel channel, int operations, ChannelHandler handler) {
        execute(() -> {
            try {
                channel.configureBlocking(false);
                SelectionKey key = channel.keyFor(selector);
                if (key == null) {
                    key = channel.register(selector, operations, handler);
                } else {
                    key.attach(handler);
                    key.interestOps(operations);
                }
                handler.registered(key);
                timerAt = clock.nanoTime();
            } catch (Throwable e) {
                fail(handler, e);
            }
        });
    }

    /** Stops to serve a channel, which another loop is going to serve. Called by the thread of the loop. */
    void forget(SelectableChannel channel) {
        SelectionKey key = channel.keyFor(selector);
        if (key != null) {
            key.cancel();
        }
    }

    /** Sets the operations for which a channel is selected; returns false if it is not registered or closed. Needs no memory. */
    static boolean setInterest(@Nullable SelectionKey key, int operations) {
        if (key == null || !key.isValid()) {
            return false;
        }
        key.interestOps(operations);
        return true;
    }

    /** Wakes the thread, which then runs its tasks and all timers. Needs no memory. */
    void wakeUp() {
        timersAreDue = true;
        selector.wakeup();
    }

    /** Closes a channel that the loop serves; its port is free when this returns. Called by the thread of the loop. */
    void closeNow(SelectableChannel channel) throws IOException {
        Sockets.close(channel);
        selector.selectNow(this::serve);
    }

    /** Ends the thread once it serves no channel any more. Does not wait. */
    void closeWhenIdle() {
        closingWhenIdle = true;
        selector.wakeup();
    }

    /** Ends the thread and fails all handlers that are left. Does not wait. */
    @Override
    public void close() {
        closing = true;
        selector.wakeup();
    }

    private void run() {
        boolean goesOn = true;
        while (goesOn) {
            try {
                goesOn = !closing && !isIdle();
                if (goesOn) {
                    select();
                }
            } catch (Throwable e) {
                report(e);
                pause();
            }
        }
        try {
            runTasks();
            for (SelectionKey key : selector.keys()) {
                fail((ChannelHandler) key.attachment(), new IOException("the rendezvous has ended"));
            }
        } finally {
            ended = true;
            Sockets.close(selector);
            runTasks();
        }
    }

    private boolean isIdle() throws IOException {
        if (!closingWhenIdle) {
            return false;
        }
        // Drops closed channels. It may consume a wakeup, so tasks are run here.
        selector.selectNow(this::serve);
        runTasks();
        return selector.keys().isEmpty() && tasks.isEmpty();
    }

    private void select() throws IOException {
        // An interrupt that stays set would keep the selector from waiting.
        boolean interrupted = Thread.interrupted();
        long sleep = interrupted ? 0 : clock.longestSleep(Math.max(0, timerAt - clock.nanoTime()));
        selector.select(this::serve, Math.max(1, sleep / 1_000_000));
        runTasks();
        // After the reads: a record that arrived while this process was stopped ends the silence.
        if (timersAreDue || timerAt - clock.nanoTime() <= 0) {
            runTimers();
        }
    }

    private void serve(SelectionKey key) {
        ChannelHandler handler = (ChannelHandler) key.attachment();
        try {
            handler.ready();
        } catch (Throwable e) {
            fail(handler, e);
        }
    }

    private void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            try {
                task.run();
            } catch (Throwable e) {
                report(e);
            }
        }
    }

    private void runTimers() {
        timersAreDue = false;
        long now = clock.nanoTime();
        // If this fails, the timers stay due.
        timerAt = now;
        // Registering a handler makes the timers due.
        long next = Long.MAX_VALUE / 2;
        for (SelectionKey key : selector.keys()) {
            ChannelHandler handler = (ChannelHandler) key.attachment();
            try {
                next = Math.min(next, handler.onTimer(now));
            } catch (Throwable e) {
                fail(handler, e);
            }
        }
        timerAt = now + next;
    }

    private static void fail(ChannelHandler handler, Throwable failure) {
        try {
            handler.failed(failure);
        } catch (Throwable e) {
            report(e);
        }
    }

    private static void report(Throwable e) {
        try {
            LOG.log(Level.WARNING, "the rendezvous continues after an unexpected failure", e);
        } catch (Throwable again) {
            // Memory is short; the thread has to continue.
            return;
        }
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException e) {
            // The pause was shorter; an interrupt does not end the thread.
            return;
        }
    }
}
