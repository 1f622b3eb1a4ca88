package org.ep4j.transport.posted;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.DeviceMemory;
import org.ep4j.EpResourceException;
import org.ep4j.EpTraffic;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.Resources;

/** NICs of several ranks in one process: what is posted arrives when the sender polls, unless the network stands still. */
final class FakeNetwork {
    static final int DEPTH = 16;

    private final List<Memory> memories = new ArrayList<>();
    /** What is open, and has to be closed. */
    final AtomicInteger open = new AtomicInteger();

    volatile boolean stalled;
    /** Whether ranks have threads that make progress. */
    volatile boolean threads = true;

    volatile int failsToRegister = -1;
    volatile int failsToConnect = -1;

    private synchronized int add(Memory memory) {
        memories.add(memory);
        return memories.size() - 1;
    }

    private synchronized Memory memory(int number) {
        return memories.get(number);
    }

    /** Memory of a rank, and what its peers have done to it. */
    final class Memory extends PostedMemory {
        private final HostMemory bytes;
        private final int number;
        private final AtomicLongArray arrived = new AtomicLongArray(2 * HostPosted.COUNTERS);
        private final AtomicLongArray shown = new AtomicLongArray(2 * HostPosted.COUNTERS);
        private final AtomicLongArray closed = new AtomicLongArray(2);
        private List<byte[]> keys = List.of();
        /** Runs after each {@link #showNew}. */
        Runnable onShow = () -> {};

        Memory(DeviceMemory local, Registrations registrations) {
            super(local, 2, registrations);
            this.bytes = HostMemory.of(local);
            this.number = add(this);
        }

        @Override
        protected byte[] key() {
            return Integer.toString(number).getBytes(StandardCharsets.UTF_8);
        }

        @Override
        protected void keys(List<byte[]> all) {
            keys = all;
        }

        Memory at(int peer) {
            return memory(Integer.parseInt(new String(keys.get(peer), StandardCharsets.UTF_8)));
        }

        void set(int source, int counter, long value) {
            arrived.setRelease(source * HostPosted.COUNTERS + counter, value);
        }

        void close(int source) {
            closed.set(source, 1);
        }

        @Override
        protected boolean isClosedBy(int peer) {
            return closed.get(peer) != 0;
        }

        @Override
        protected boolean showNew(int source, int counter) {
            int word = source * HostPosted.COUNTERS + counter;
            long value = arrived.getAcquire(word);
            boolean isNew = shown.getAndSet(word, value) != value;
            onShow.run();
            return isNew;
        }

        @Override
        protected long shown(int source, int counter) {
            return shown.get(source * HostPosted.COUNTERS + counter);
        }
    }

    /** A connection with room for {@link #DEPTH} work requests. */
    final class Connection extends PostedConnection<Memory> {
        private final int self;
        private final Queue<Runnable> posted = new ConcurrentLinkedQueue<>();
        private final LaneTraffic traffic = new LaneTraffic(0, "fake");
        final AtomicInteger polls = new AtomicInteger();
        volatile Runnable onPoll = () -> {};
        /** Runs when a drain asks for {@link #sourcesInFlight}. */
        Runnable onDrain = () -> {};

        int acknowledgements;
        /** Counters and values in the order in which they were posted. Not synchronized on purpose, as all below: the lock of the connection is. */
        final List<List<Long>> signals = new ArrayList<>();

        int writes;
        boolean inside;
        boolean overlapped;
        int stops;
        int notices;
        int ends;
        boolean lostBeforeStop;

        Connection(PostedPeer peer, int self, Duration timeout) {
            super(peer, timeout);
            this.self = self;
        }

        @Override
        protected void post(Memory memory, long target, long source, long bytes, boolean message) {
            alone(() -> {
                await("room", () -> posted.size() < DEPTH);
                Memory to = memory.at(peer().index());
                posted.add(() -> to.bytes.copy(target, memory.bytes, source, bytes));
                traffic.write(bytes);
                writes++;
            });
        }

        /** Notices two threads that post to one peer at the same time. */
        private void alone(Runnable post) {
            overlapped |= inside;
            inside = true;
            Thread.onSpinWait();
            try {
                post.run();
            } finally {
                inside = false;
            }
        }

        @Override
        protected void postSignal(Memory memory, int counter, long[] sent, long value) {
            alone(() -> {
                await("room", () -> posted.size() < DEPTH);
                sent[counter] = value;
                Memory to = memory.at(peer().index());
                posted.add(() -> to.set(self, counter, value));
                signals.add(List.of((long) counter, value));
                traffic.signal();
            });
            progress();
        }

        @Override
        protected void postClosed(Memory memory) {
            Memory to = memory.at(peer().index());
            posted.add(() -> to.close(self));
            notices++;
        }

        /** Does what a command says that another thread leaves. */
        void command(Runnable run) {
            submit(run);
        }

        @Override
        protected boolean poll(int most) {
            polls.addAndGet(most);
            onPoll.run();
            boolean moved = false;
            for (Runnable next = next(); next != null; next = next()) {
                next.run();
                moved = true;
            }
            return moved;
        }

        private Runnable next() {
            return stalled ? null : posted.poll();
        }

        @Override
        protected int inFlight() {
            return posted.size() + acknowledgements;
        }

        @Override
        protected int sourcesInFlight() {
            onDrain.run();
            return posted.size();
        }

        @Override
        protected Backlog backlog() {
            return new Backlog(posted.size() + " requests under way", 0, posted.size());
        }

        @Override
        protected void notifyEnd() {
            ends++;
        }

        @Override
        protected void stop() {
            lostBeforeStop = isLost();
            stops++;
            posted.clear();
        }

        @Override
        protected String lossAdvice() {
            return "; see the fake network";
        }

        @Override
        public EpTraffic traffic() {
            return EpTraffic.of("fake", peer().rank(), 0, List.of(traffic.read(!isLost())));
        }
    }

    /** The NIC of a rank. */
    final class Endpoint implements PostedEndpoint<Memory> {
        private final int rank;
        private final List<Integer> peers;

        Endpoint(int rank, List<Integer> peers) {
            this.rank = rank;
            this.peers = peers;
        }

        @Override
        public byte[] address() {
            open.incrementAndGet();
            return new byte[] {(byte) rank};
        }

        @Override
        public PostedConnection<Memory> connect(PostedPeer peer, List<byte[]> addresses) {
            if (failsToConnect == rank || addresses.get(peer.index())[0] != peer.rank()) {
                throw new EpResourceException("no queue is left");
            }
            return new Connection(peer, 1 - peer.index(), Duration.ofMinutes(10));
        }

        @Override
        public List<PollPause> pauses(String name) {
            return threads ? List.of(new BackoffPause(name)) : List.of();
        }

        @Override
        public Memory register(ExposedMemory memory, PostedMemory.Registrations registrations) {
            for (Resources part : List.of(registrations.data(), registrations.counters())) {
                open.incrementAndGet();
                part.add(open::decrementAndGet);
            }
            if (failsToRegister == rank) {
                throw new EpResourceException("the NIC is full");
            }
            return new Memory(memory.memory(), registrations);
        }

        @Override
        public void tryRegister(ExposedMemory memory) {
            throw new EpResourceException("not for " + peers);
        }

        @Override
        public Optional<String> refusal(ExposedMemory.Kind kind) {
            return kind == ExposedMemory.Kind.HOST ? Optional.empty() : Optional.of("no GPUs");
        }

        @Override
        public void close() {
            open.decrementAndGet();
        }

        @Override
        public String toString() {
            return "fake" + rank;
        }
    }
}
