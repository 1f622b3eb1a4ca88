package org.ep4j.engine.membership;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.Words;

/**
 * Slots in memory that ranks map or post to, through which they agree on a membership and exchange messages to move a buffer. The memory
 * of each rank has slots for each other rank, which only that other rank overwrites. It stays for the buffer's life: no rank writes the
 * slots of another one, so a rank that was left out can do no harm here.
 *
 * <p>A slot has a version, a length, a checksum and bytes; a message whose checksum does not match is incomplete. A rank that maps the
 * memory sets the version to 0 while it writes. A rank that posts has one message to a peer in flight at a time; the next one is
 * {@linkplain #sendDeferred deferred} until then, so that nothing here waits for a peer that has stopped, unless another thread fills
 * the queue to it at that moment, of another buffer or for a GPU. For one thread.
 */
public final class ControlSlots {
    /** Slot of {@link AgreementMessage}s. */
    static final int AGREEMENT = 0;

    /** The first of two slots that {@link SlotBootstrap} uses in turn. */
    static final int EXCHANGE = 1;

    /** Most bytes of one message in a slot of the exchange. */
    static final int EXCHANGE_BYTES = 2048;

    private static final int SLOTS = 3;
    private static final int VERSION = 0;
    private static final int LENGTH = 8;
    private static final int CHECKSUM = 16;
    private static final int HEAD = 24;
    private static final int LINE = 64;
    private static final int PAGE = 4096;

    /** Counter that is advanced to post what was written; it is not read. */
    private static final int COUNTER = 0;

    /** Tries for which a connection may be in use before a message waits for {@link #TURN}. */
    private static final int BUSY_TRIES = 32;

    /**
     * Longest such wait, first for the thread that uses the connection and then for the writes in flight: long enough for some
     * large writes of each, and short if the peer has stopped.
     */
    private static final Duration TURN = Duration.ofMillis(10);

    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final int self;
    private final Memory memory;
    private final Words own;
    private final int slotBytes;
    private final Map<Integer, PostedSlots> posted = new TreeMap<>();
    /** One wait in a call is enough: there may be many peers that have stopped. */
    private boolean mayDrain;

    /**
     * Memory of all ranks, zeroed at first.
     *
     * @param own of this rank
     * @param mapped of the ranks that this one maps, by rank
     * @param posted by which this rank writes the others, by rank
     */
    public record Memory(Words own, Map<Integer, ? extends Words> mapped, Map<Integer, HostPosted> posted) {
        int ranks() {
            return 1 + mapped.size() + posted.size();
        }
    }

    /** The slots at a rank to which this one posts. */
    private static final class PostedSlots {
        private final HostPosted path;
        /** By slot: the newest message, if it could not be posted yet. */
        private final Map<Integer, Message> deferred = new TreeMap<>();

        /** Number of tries in a row in which the connection was in use. */
        private int busy;

        private boolean unreachable;
        private long posts;

        PostedSlots(HostPosted path) {
            this.path = path;
        }
    }

    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Message(long version, byte[] bytes) {}

    ControlSlots(int self, Memory memory) {
        this.self = self;
        this.memory = memory;
        this.own = memory.own();
        this.slotBytes = slotBytes(memory.ranks());
        memory.posted().forEach((rank, path) -> posted.put(rank, new PostedSlots(path)));
    }

    /** Bytes of each rank's memory, a multiple of a page: slots, then staging for those of others. */
    static long bytes(int ranks) {
        return (2 * slotsBytes(ranks) + PAGE - 1) & -PAGE;
    }

    private static long slotsBytes(int ranks) {
        return (long) ranks * SLOTS * slotBytes(ranks);
    }

    private static int slotBytes(int ranks) {
        int most = Math.max(EXCHANGE_BYTES, new MessageCodec(ranks).messageBytes());
        return (HEAD + most + LINE - 1) & -LINE;
    }

    int ranks() {
        return memory.ranks();
    }

    private long offset(int source, int slot) {
        return ((long) source * SLOTS + slot) * slotBytes;
    }

    /**
     * Overwrites this rank's slot at another rank, at once or by a later {@link #sendDeferred}.
     *
     * @param version larger than the version of any earlier message in this slot
     */
    void send(int to, int slot, long version, byte[] bytes) {
        PostedSlots peer = posted.get(to);
        if (peer == null) {
            Words words = memory.mapped().get(to);
            if (words == null) {
                throw new IllegalArgumentException(
                        "rank " + to + " has no memory for control messages of rank " + self);
            }
            write(words, offset(self, slot), version, bytes);
        } else {
            peer.deferred.put(slot, new Message(version, bytes));
            sendDeferred(to, peer);
        }
    }

    /** Posts deferred messages. Called repeatedly while messages are exchanged. */
    void sendDeferred() {
        mayDrain = true;
        posted.forEach(this::sendDeferred);
        mayDrain = false;
    }

    private void sendDeferred(int to, PostedSlots peer) {
        if (peer.deferred.isEmpty()) {
            return;
        }
        try {
            // Waits for writes of operations too: a full queue would make this rank wait for a peer that has stopped.
            if (!peer.path.isIdle(to) && !endsStream(to, peer)) {
                return;
            }
            peer.busy = 0;
            for (Map.Entry<Integer, Message> one : peer.deferred.entrySet()) {
                int slot = one.getKey();
                Message message = one.getValue();
                long staged = slotsBytes(ranks()) + offset(to, slot);
                write(own, staged, message.version(), message.bytes());
                peer.path.putMessage(to, offset(self, slot), staged, HEAD + padded(message.bytes().length));
            }
            peer.posts++;
            peer.path.signal(to, COUNTER, peer.posts);
            peer.deferred.clear();
        } catch (EpTimeoutException e) {
            // Another thread has filled the queue meanwhile.
            LOG.log(
                    System.Logger.Level.DEBUG,
                    "the send queue to rank " + to + " is full; the control message is posted later",
                    e);
        } catch (EpPeerLostException e) {
            requireAbout(to, e);
            peer.unreachable = true;
            peer.deferred.clear();
        }
    }

    /** Waits for a connection that threads of other buffers keep busy; they post nothing meanwhile. */
    private boolean endsStream(int to, PostedSlots peer) {
        peer.busy++;
        if (peer.busy < BUSY_TRIES || !mayDrain) {
            return false;
        }
        peer.busy = 0;
        mayDrain = false;
        peer.path.flush(to, System.nanoTime() + TURN.toNanos());
        // A peer that has stopped still accepts nothing.
        return peer.path.isIdle(to);
    }

    /** Detects the ranks to which nothing can be posted any more. */
    void findUnreachable() {
        posted.forEach((to, peer) -> {
            try {
                peer.path.isIdle(to);
            } catch (EpPeerLostException e) {
                requireAbout(to, e);
                peer.unreachable = true;
            }
        });
    }

    /** Rethrows a loss that does not name the peer: it names this rank, which was left out. */
    private static void requireAbout(int peer, EpPeerLostException e) {
        if (e.failure().peer() != peer) {
            throw e;
        }
    }

    boolean isPosted(int rank) {
        return posted.containsKey(rank);
    }

    boolean hasDeferred(int rank) {
        PostedSlots peer = posted.get(rank);
        return peer != null && !peer.deferred.isEmpty();
    }

    boolean hasAnyDeferred() {
        return isAnyPosted() && posted.values().stream().anyMatch(peer -> !peer.deferred.isEmpty());
    }

    /** Returns whether this rank posts to any other one. */
    boolean isAnyPosted() {
        return !posted.isEmpty();
    }

    boolean isUnreachable(int rank) {
        PostedSlots peer = posted.get(rank);
        return peer != null && peer.unreachable;
    }

    private static void write(Words words, long at, long version, byte[] bytes) {
        ByteBuffer padded = words(Arrays.copyOf(bytes, padded(bytes.length)));
        words.putLongRelease(at + VERSION, 0);
        VarHandle.storeStoreFence();
        for (int i = 0; i < bytes.length; i += Long.BYTES) {
            words.putLong(at + HEAD + i, padded.getLong(i));
        }
        words.putLong(at + LENGTH, bytes.length);
        words.putLong(at + CHECKSUM, checksum(version, bytes));
        words.putLongRelease(at + VERSION, version);
    }

    /** Version of the newest message in a rank's slot, which may be incomplete; 0 if there is none. */
    long version(int from, int slot) {
        return own.getLongAcquire(offset(from, slot));
    }

    /** Reads the message in a rank's slot, if it has this version and is complete. */
    Optional<byte[]> read(int from, int slot, long version) {
        long at = offset(from, slot);
        if (version == 0 || own.getLongAcquire(at + VERSION) != version) {
            return Optional.empty();
        }
        long length = own.getLong(at + LENGTH);
        if (length < 0 || length > slotBytes - HEAD) {
            return Optional.empty();
        }
        byte[] padded = new byte[padded((int) length)];
        ByteBuffer words = words(padded);
        for (int i = 0; i < length; i += Long.BYTES) {
            words.putLong(i, own.getLong(at + HEAD + i));
        }
        byte[] bytes = Arrays.copyOf(padded, (int) length);
        boolean matches = own.getLong(at + CHECKSUM) == checksum(version, bytes);
        VarHandle.loadLoadFence();
        return matches && own.getLongAcquire(at + VERSION) == version ? Optional.of(bytes) : Optional.empty();
    }

    private static ByteBuffer words(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    }

    private static int padded(int bytes) {
        return (bytes + Long.BYTES - 1) & -Long.BYTES;
    }

    /** Checksum of a message; never 0, which new memory has. */
    static long checksum(long version, byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(ByteBuffer.allocate(Long.BYTES).putLong(0, version));
        crc.update(bytes);
        return crc.getValue() + 1;
    }
}
