package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.BiConsumer;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.NativeRecord;
import org.jspecify.annotations.Nullable;

/**
 * Work requests of one link on their way to its queue pairs. Appending copies a {@link Request} to the {@link InFlight}
 * requests of its lane, from which a failover can post it again, and to a {@link Batch}, which is posted in few calls.
 * The last request of a batch for each lane reports completion.
 *
 * <p>All of this is for the thread that holds the lock of the link. Nothing is allocated where requests are made.
 */
final class SendQueue {
    /** Opcode: writes bytes. */
    static final int WRITE = 0;

    /** Opcode: adds to a word. */
    static final int ADD = 1;

    /** Opcode: writes bytes, or none, and gives the peer 32 bits. */
    static final int IMMEDIATE = 2;

    /** Opcode: reads bytes. */
    static final int READ = 3;

    /** Flag: {@code IBV_SEND_SIGNALED}. */
    static final int SIGNALED = 2;

    /** Flag: {@code IBV_SEND_INLINE}. */
    static final int INLINE = 8;

    /** Requests of one call: a counted write over 32 lanes with its counters fits. */
    private static final int BATCH = 64;

    /** What is larger starts at once. */
    private static final long LARGE = 64 << 10;

    private final int peer;
    private final Lane[] lanes;
    private final Wire wire;
    private final BiConsumer<Lane, String> failed;
    private final Batch batch = new Batch(BATCH);
    private final int[] last;
    private final long[] lastBatch;
    private final long[] seen;
    private long flushes;
    private long bytes;

    /**
     * To one peer.
     *
     * @param peer its index
     * @param failed accepts a lane that takes no requests, and why
     */
    SendQueue(int peer, Lane[] lanes, Wire wire, BiConsumer<Lane, String> failed) {
        this.peer = peer;
        this.lanes = lanes.clone();
        this.wire = wire;
        this.failed = failed;
        this.last = new int[lanes.length];
        this.lastBatch = new long[lanes.length];
        Arrays.fill(lastBatch, -1);
        this.seen = new long[lanes.length];
    }

    /**
     * Appends a request to a lane that has room. What was appended before may be posted, but not this one: an advance
     * that follows a write may still travel with it.
     *
     * @return its number on the lane
     */
    long append(Lane lane, Request request) {
        if (batch.full() || bytes >= LARGE) {
            flush();
        }
        Lane.Ends ends = lane.ends();
        long number = lane.inFlight().append(request);
        lane.count(request);
        int flags = lane.signalsNext() ? SIGNALED : 0;
        Region source = request.source;
        Region target = request.target;
        if (source == null || target == null) {
            throw new IllegalStateException("a request without memory");
        }
        // The processor copies what travels inline.
        if (request.writes() && request.length <= ends.inline() && source.onHost()) {
            flags |= INLINE;
        }
        boolean bare = request.length == 0;
        last[lane.index()] = batch.count();
        lastBatch[lane.index()] = flushes;
        batch.add(
                lane.index(),
                ends.qp(),
                Completions.sendId(lane.index(), number),
                request.opcode,
                bare ? 0 : request.remote,
                bare ? 0 : target.remoteKey(peer, ends.remotePort()),
                request.local,
                source.key(ends.port()),
                request.length,
                request.add,
                request.immediate,
                flags);
        bytes += request.length;
        return number;
    }

    /**
     * Lets the newest request of a lane make the peer add to a word, where it is a write that has not been posted.
     *
     * @return false where it is not
     */
    boolean count(Lane lane, Region to, long word, int code, long result) {
        int index = last[lane.index()];
        if (lastBatch[lane.index()] != flushes || !lane.alive() || batch.opcode(index) != WRITE) {
            return false;
        }
        batch.count(index, code);
        lane.inFlight().count(to, word, code, result);
        lane.traffic().signal();
        return true;
    }

    /** Posts what was appended. */
    void flush() {
        int count = batch.count();
        if (count == 0) {
            return;
        }
        signalLast(count);
        int from = 0;
        while (from < count) {
            if (!lanes[batch.lane(from)].alive()) {
                from++;
                continue;
            }
            int to = from + 1;
            while (to < count && lanes[batch.lane(to)].alive()) {
                to++;
            }
            from = wire.post(batch, from, to);
            if (from < to) {
                Lane lane = lanes[batch.lane(from)];
                failed.accept(
                        lane, "it took no request: " + wire.error(batch.error().get(0)));
            }
        }
        batch.clear();
        bytes = 0;
    }

    private void signalLast(int count) {
        flushes++;
        for (int i = count - 1; i >= 0; i--) {
            int lane = batch.lane(i);
            if (seen[lane] != flushes) {
                seen[lane] = flushes;
                batch.signal(i);
                lanes[lane].signaled();
            }
        }
    }

    /** One request, before it gets a queue pair. Reused. */
    static final class Request {
        int opcode;

        /** Address on the peer. */
        long remote;

        /** Address here. */
        long local;

        int length;

        /** Whether it is of low latency or control data: see {@link org.ep4j.spi.HostPosted#putMessage}. */
        boolean message;

        /** Whether room on the NIC was taken for it, see {@link Lane#nic}. */
        boolean hasRoom;

        /** What {@code local} lies in. */
        @Nullable
        Region source;

        /** What {@code remote} lies in. */
        @Nullable
        Region target;

        /** What the word that advances lies in, in both ways of counting; null where none does. */
        @Nullable
        Region counted;

        /** Address on the peer of the word that advances. */
        long word;

        /** What is added to the word, where the NIC adds. */
        long add;

        /** What the word is afterwards. */
        long after;

        int immediate;

        Request write(Region to, long remoteAddress, Region from, long localAddress, int bytes) {
            opcode = WRITE;
            remote = remoteAddress;
            local = localAddress;
            length = bytes;
            message = false;
            hasRoom = false;
            source = from;
            target = to;
            counted = null;
            word = 0;
            add = 0;
            after = 0;
            immediate = 0;
            return this;
        }

        Request read(Region from, long remoteAddress, Region to, long localAddress, int bytes) {
            write(from, remoteAddress, to, localAddress, bytes);
            opcode = READ;
            return this;
        }

        /** Adds to a word; the old value goes to {@code scratch}. */
        Request add(Region to, long toWord, long delta, long result, Region from, long scratch) {
            write(to, toWord, from, scratch, Long.BYTES);
            opcode = ADD;
            counted = to;
            word = toWord;
            add = delta;
            after = result;
            return this;
        }

        /** Makes the peer add to a word, and writes nothing. */
        Request immediate(Region to, long toWord, int code, long result) {
            write(to, 0, to, 0, 0);
            opcode = IMMEDIATE;
            counted = to;
            word = toWord;
            immediate = code;
            after = result;
            return this;
        }

        /** Becomes a copy of another one, which has no room on the NIC to give on. */
        private void copy(Request other) {
            opcode = other.opcode;
            remote = other.remote;
            local = other.local;
            length = other.length;
            message = other.message;
            hasRoom = false;
            source = other.source;
            target = other.target;
            counted = other.counted;
            word = other.word;
            add = other.add;
            after = other.after;
            immediate = other.immediate;
        }

        /** True when it writes bytes of a caller. */
        boolean writes() {
            return length > 0 && (opcode == WRITE || opcode == IMMEDIATE);
        }
    }

    /** Requests of one lane that were appended and are not reported complete: enough to post them again. A ring. */
    static final class InFlight {
        private final NicFlow nic;
        private final Request[] ring;
        private long posted;
        private long retired;
        private boolean abandoned;

        /**
         * An empty ring.
         *
         * @param depth most requests of the queue pair
         * @param nic whose room its writes have
         */
        InFlight(int depth, NicFlow nic) {
            this.nic = nic;
            this.ring = new Request[Integer.highestOneBit(Math.max(2, depth - 1)) << 1];
            Arrays.setAll(ring, slot -> new Request());
        }

        /** Number of the next request. */
        long posted() {
            return posted;
        }

        /** Number of the oldest request that is not reported complete. */
        long retired() {
            return retired;
        }

        /** How many there are. */
        int pending() {
            return (int) (posted - retired);
        }

        /** The request of a number, as long as it is in flight. */
        Request get(long number) {
            return ring[(int) number & (ring.length - 1)];
        }

        /**
         * Notes a request; returns its number. A write that has no room on the NIC yet, such as one that is repeated,
         * goes beyond the limits.
         */
        long append(Request request) {
            if (request.writes() && !request.hasRoom) {
                nic.takeAnyway(request.length, request.message);
            }
            get(posted).copy(request);
            return posted++;
        }

        /** The newest request, a write, now also makes the peer add to a word. */
        private void count(Region to, long toWord, int code, long result) {
            Request newest = get(posted - 1);
            newest.opcode = IMMEDIATE;
            newest.counted = to;
            newest.word = toWord;
            newest.immediate = code;
            newest.after = result;
        }

        /** Everything before {@code number} is done. */
        void retire(long number) {
            for (; retired < number; retired++) {
                Request done = get(retired);
                giveRoom(done);
                done.source = null;
                done.target = null;
                done.counted = null;
            }
        }

        private void giveRoom(Request done) {
            if (!abandoned && (done.opcode == WRITE || done.opcode == IMMEDIATE)) {
                nic.give(done.length, done.message);
            }
        }

        /** Nothing of it is in flight any more: other links get its room on the NIC. */
        void abandon() {
            for (long number = retired; number < posted; number++) {
                giveRoom(get(number));
            }
            abandoned = true;
        }
    }

    /** Requests that wait to be posted, as {@code ep4j::Command} lays them out. */
    static final class Batch {
        // Each access is compiled to one instruction, by C1 too, where methods of the buffer would be several calls.
        private static final VarHandle LONG =
                MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
        private static final VarHandle INT =
                MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

        private static final int SIZE = 64;
        private static final int FLAGS = 60;

        private final NativeRecord record;
        private final ByteBuffer buffer;
        private final int capacity;
        private final NativeRecord error = new NativeRecord(4);
        private final int[] lanes;
        private int count;

        private Batch(int capacity) {
            this.record = new NativeRecord(capacity * SIZE);
            this.buffer = record.buffer();
            this.capacity = capacity;
            this.lanes = new int[capacity];
        }

        private int count() {
            return count;
        }

        private boolean full() {
            return count == capacity;
        }

        private void clear() {
            count = 0;
        }

        private void add(
                int lane,
                long qp,
                long id,
                int opcode,
                long remote,
                int rkey,
                long local,
                int lkey,
                int length,
                long add,
                int immediate,
                int flags) {
            int at = count * SIZE;
            lanes[count++] = lane;
            LONG.set(buffer, at, qp);
            LONG.set(buffer, at + 8, id);
            LONG.set(buffer, at + 16, remote);
            LONG.set(buffer, at + 24, local);
            LONG.set(buffer, at + 32, add);
            INT.set(buffer, at + 40, rkey);
            INT.set(buffer, at + 44, lkey);
            INT.set(buffer, at + 48, length);
            INT.set(buffer, at + 52, immediate);
            INT.set(buffer, at + 56, opcode);
            INT.set(buffer, at + FLAGS, flags);
        }

        /** Makes a write one that gives the peer 32 bits. */
        private void count(int index, int immediate) {
            INT.set(buffer, index * SIZE + 52, immediate);
            INT.set(buffer, index * SIZE + 56, IMMEDIATE);
        }

        private void signal(int index) {
            INT.set(buffer, index * SIZE + FLAGS, flags(index) | SIGNALED);
        }

        int lane(int index) {
            return lanes[index];
        }

        long id(int index) {
            return (long) LONG.get(buffer, index * SIZE + 8);
        }

        long remote(int index) {
            return (long) LONG.get(buffer, index * SIZE + 16);
        }

        long local(int index) {
            return (long) LONG.get(buffer, index * SIZE + 24);
        }

        long added(int index) {
            return (long) LONG.get(buffer, index * SIZE + 32);
        }

        int length(int index) {
            return (int) INT.get(buffer, index * SIZE + 48);
        }

        int immediate(int index) {
            return (int) INT.get(buffer, index * SIZE + 52);
        }

        int opcode(int index) {
            return (int) INT.get(buffer, index * SIZE + 56);
        }

        int flags(int index) {
            return (int) INT.get(buffer, index * SIZE + FLAGS);
        }

        /** Address of a request. */
        long address(int index) {
            return record.address() + (long) index * SIZE;
        }

        /** Where the error number of a post goes. */
        NativeRecord error() {
            return error;
        }
    }
}
