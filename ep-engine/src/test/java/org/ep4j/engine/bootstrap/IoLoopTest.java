package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What one connection throws ends that connection, and neither the thread nor the others. */
@Tag("verify")
final class IoLoopTest {
    private final TestClock clock = new TestClock();
    private final IoLoop loop = new IoLoop("ep4j-test-loop", clock);

    @AfterEach
    void end() {
        loop.close();
    }

    private enum Where {
        REGISTERED,
        READY,
        TIMER,
        NOWHERE
    }

    /** Throws whatever it is given, where it is asked to. */
    private static final class Faulty implements IoLoop.ChannelHandler {
        private final Pipe pipe = Pipe.open();
        private final AtomicInteger calls = new AtomicInteger();
        private final AtomicInteger timers = new AtomicInteger();
        private final AtomicReference<Throwable> ended = new AtomicReference<>();
        private final Where where;
        private final Error error;

        Faulty(Where where, Error error) throws IOException {
            this.where = where;
            this.error = error;
        }

        @Override
        public void registered(SelectionKey key) {
            calls.incrementAndGet();
            if (where == Where.REGISTERED) {
                throw error;
            }
        }

        @Override
        public void ready() {
            throw error;
        }

        @Override
        public long onTimer(long now) {
            timers.incrementAndGet();
            if (where == Where.TIMER) {
                throw error;
            }
            return Long.MAX_VALUE / 4;
        }

        @Override
        public void failed(Throwable failure) {
            ended.set(failure);
            Sockets.close(pipe.source());
            throw new IllegalStateException("a defect in the clean-up, too", failure);
        }
    }

    private void works() {
        CountDownLatch done = new CountDownLatch(1);
        loop.execute(done::countDown);
        Guard.until("a task runs", () -> done.getCount() == 0);
    }

    @Test
    void survivesErrorsOfItsEndpoints() throws IOException {
        for (Error error : new Error[] {
            new OutOfMemoryError("unable to create native thread"), new StackOverflowError(), new AssertionError()
        }) {
            for (Where where : List.of(Where.REGISTERED, Where.READY, Where.TIMER)) {
                Faulty faulty = new Faulty(where, error);
                faulty.pipe.sink().write(ByteBuffer.allocate(1));
                loop.register(faulty.pipe.source(), SelectionKey.OP_READ, faulty);
                Guard.until("the endpoint has ended", () -> faulty.ended.get() != null);
                assertThat(faulty.ended.get()).isSameAs(error);
                works();
            }
        }
    }

    @Test
    void survivesErrorsOfItsTasks() {
        loop.execute(() -> {
            throw new OutOfMemoryError("Java heap space");
        });
        works();
    }

    @Test
    void runsTimersWhenItIsWokenUp() throws IOException {
        Faulty faulty = new Faulty(Where.NOWHERE, new AssertionError());
        loop.register(faulty.pipe.source(), SelectionKey.OP_READ, faulty);
        Guard.until("its first timer has run", () -> faulty.timers.get() > 0);
        works();
        int before = faulty.timers.get();
        loop.wakeUp();
        Guard.until("its timer runs again", () -> faulty.timers.get() > before);
    }

    @Test
    void endsWithItsLastChannel() throws IOException {
        Faulty endpoint = new Faulty(Where.READY, new AssertionError());
        loop.register(endpoint.pipe.source(), SelectionKey.OP_READ, endpoint);
        Guard.until("it is served", () -> endpoint.calls.get() == 1);
        loop.closeWhenIdle();
        works();
        endpoint.pipe.sink().close();
        Guard.until(
                "the thread ends",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("ep4j-test-loop")));
    }
}
