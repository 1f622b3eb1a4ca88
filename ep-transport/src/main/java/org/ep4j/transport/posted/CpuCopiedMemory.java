package org.ep4j.transport.posted;

import java.io.EOFException;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.EpStateException;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.memory.HostMemory;

/**
 * Host memory of one buffer for transports without remote writes, which carry messages and keep their order. A message with data is a write:
 * the receiver's CPU copies the data. One without data sets a counter, after all that was written before it.
 */
public final class CpuCopiedMemory extends CpuCountedMemory {
    /** Most bytes of data in one message. */
    public static final int MOST_DATA = 1 << 16;

    /** Bytes before the data: its length, the number of the buffer on the receiver, the counter, and the offset or value. */
    private static final int HEADER = 3 * Integer.BYTES + Long.BYTES;

    private static final int MOST_MESSAGE = HEADER + MOST_DATA;

    private final int number;
    private final HostMemory bytes;
    private List<Integer> numbers = List.of();
    private boolean open = true;

    /**
     * The buffers of one rank, by the numbers with which peers name them. A number is given once, so that what arrives late cannot reach a
     * younger buffer. Safe for use from several threads.
     */
    public static final class Buffers {
        private final Map<Integer, CpuCopiedMemory> byNumber = new ConcurrentHashMap<>();
        private final AtomicInteger numbers = new AtomicInteger();

        /** Creates it, with no buffer. */
        public Buffers() {}

        /**
         * Adds a buffer, which stays until its counters end.
         *
         * @param ranks number of ranks that opened the backend
         */
        public CpuCopiedMemory add(ExposedMemory memory, int ranks, Registrations registrations) {
            CpuCopiedMemory made = new CpuCopiedMemory(numbers.getAndIncrement(), memory, ranks, registrations);
            byNumber.put(made.number, made);
            registrations.data().add(made::close);
            registrations.counters().add(() -> byNumber.remove(made.number));
            return made;
        }

        /** Returns the buffer with a number; empty if it is no more. */
        Optional<CpuCopiedMemory> find(int number) {
            return Optional.ofNullable(byNumber.get(number));
        }
    }

    /** Messages to and from one peer, over a stream of bytes that keeps their order. For one thread at a time. */
    public static final class Messages {
        private final Buffers buffers;
        private final int peer;
        private final ByteBuffer in = ByteBuffer.allocateDirect(2 * MOST_MESSAGE);
        private final ByteBuffer out = ByteBuffer.allocateDirect(2 * MOST_MESSAGE);

        /**
         * Creates it, with no messages.
         *
         * @param buffers of this rank
         * @param peer index of the peer
         */
        public Messages(Buffers buffers, int peer) {
            this.buffers = buffers;
            this.peer = peer;
        }

        /** Returns whether one more message can be added. */
        public boolean hasRoom() {
            return out.remaining() >= MOST_MESSAGE;
        }

        /** Returns the number of bytes that the stream has not taken. */
        public int waiting() {
            return out.position();
        }

        /**
         * Adds a write, whose data are copied now.
         *
         * @param length at least 1, at most {@link #MOST_DATA}
         * @throws EpStateException if another thread has closed the buffer: the memory may be gone
         */
        public void addWrite(CpuCopiedMemory memory, long target, long source, int length) {
            memory.copyTo(out.slice(out.position() + HEADER, length), source);
            addHeader(memory, length, 0, target);
            out.position(out.position() + length);
        }

        /** Adds a new value of a counter. */
        public void addSignal(CpuCopiedMemory memory, int counter, long value) {
            addHeader(memory, 0, counter, value);
        }

        private void addHeader(CpuCopiedMemory memory, int length, int counter, long value) {
            out.putInt(length).putInt(memory.numbers.get(peer)).putInt(counter).putLong(value);
        }

        /** Writes to the stream what it takes; returns the number of bytes. */
        public int send(WritableByteChannel stream) throws IOException {
            out.flip();
            try {
                return stream.write(out);
            } finally {
                out.compact();
            }
        }

        /**
         * Reads from the stream, and carries out all messages that have arrived whole. Those to buffers that are no more are passed over.
         *
         * @return number of bytes that were read
         * @throws IOException if reading fails, at the end of the stream, and at a message with a length, a range or a counter that does not exist:
         *     nothing after it can be trusted
         */
        public int receive(ReadableByteChannel stream) throws IOException {
            int received = stream.read(in);
            if (received < 0) {
                throw new EOFException("it has closed the connection" + (in.position() > 0 ? " in a message" : ""));
            }
            in.flip();
            while (in.remaining() >= HEADER) {
                int length = in.getInt(in.position());
                if (length < 0 || length > MOST_DATA) {
                    throw new StreamCorruptedException("its messages cannot be trusted: length " + length);
                }
                if (in.remaining() < HEADER + length) {
                    break;
                }
                carryOut(in.slice(in.position(), HEADER + length));
                in.position(in.position() + HEADER + length);
            }
            in.compact();
            return received;
        }

        private void carryOut(ByteBuffer message) throws IOException {
            int length = message.getInt();
            Optional<CpuCopiedMemory> to = buffers.find(message.getInt());
            int counter = message.getInt();
            long value = message.getLong();
            if (to.isPresent()
                    && !(length > 0 ? to.get().write(value, message) : to.get().tryAdvance(peer, counter, value))) {
                throw new StreamCorruptedException("its messages cannot be trusted: "
                        + (length > 0 ? length + " bytes at " + value : "counter " + counter));
            }
        }
    }

    private CpuCopiedMemory(int number, ExposedMemory memory, int ranks, Registrations registrations) {
        super(memory.memory(), ranks, registrations);
        this.number = number;
        this.bytes = HostMemory.of(memory.memory());
    }

    private synchronized void copyTo(ByteBuffer out, long source) {
        if (!open) {
            throw new EpStateException("the buffer was closed during a write; close a buffer after the last call");
        }
        out.put(bytes.slice(source, out.remaining()));
    }

    /** Does nothing once this rank has closed the buffer: peers write until they learn of it, and the memory may be gone by then. */
    private synchronized boolean write(long offset, ByteBuffer data) {
        if (offset < 0 || offset > bytes.size() - data.remaining()) {
            return false;
        }
        if (open) {
            bytes.slice(offset, data.remaining()).put(data);
        }
        return true;
    }

    private synchronized void close() {
        open = false;
    }

    @Override
    protected byte[] key() {
        return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    }

    @Override
    protected void keys(List<byte[]> keys) {
        numbers = keys.stream()
                .map(key -> key.length == 0 ? -1 : ByteBuffer.wrap(key).getInt())
                .toList();
    }
}
