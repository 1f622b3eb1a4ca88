package org.ep4j.engine.membership;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.ep4j.engine.memory.Words;

/**
 * Slots in memory that ranks map, through which they agree on a membership and exchange what it takes to move a buffer. The memory
 * of each rank has slots for each other rank, which only that other rank writes, again and again. The memory is that of the buffer's first epoch
 * and stays for the buffer's life: no rank writes the slots of another one, so a rank that was left out can do no harm here.
 *
 * <p>A slot has a version, a length, a checksum and bytes. The version is 0 while its writer is at work. If the writer's process
 * ends in the middle of that, the message counts as lost.
 */
final class ControlSlots {
    /** The slot of {@link AgreementMessage}s. */
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

    private final int self;
    private final List<Words> memory;
    private final Words own;
    private final int slotBytes;

    /**
     * Over the memory of all ranks.
     *
     * @param self this rank
     * @param memory by rank, zeroed when it was new
     */
    ControlSlots(int self, List<? extends Words> memory) {
        this.self = self;
        this.memory = List.copyOf(memory);
        this.own = memory.get(self);
        this.slotBytes = slotBytes(memory.size());
    }

    /** Bytes of each rank's memory, a multiple of a page. */
    static long bytes(int ranks) {
        return ((long) ranks * SLOTS * slotBytes(ranks) + PAGE - 1) & -PAGE;
    }

    private static int slotBytes(int ranks) {
        int most = Math.max(EXCHANGE_BYTES, new MessageCodec(ranks).messageBytes());
        return (HEAD + most + LINE - 1) & -LINE;
    }

    int ranks() {
        return memory.size();
    }

    private long offset(int source, int slot) {
        return ((long) source * SLOTS + slot) * slotBytes;
    }

    /**
     * Overwrites this rank's slot at another rank.
     *
     * @param version larger than the version of any earlier message in this slot
     */
    void send(int to, int slot, long version, byte[] bytes) {
        Words words = memory.get(to);
        long at = offset(self, slot);
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

    /** The version of the newest message in a rank's slot, which may not be complete; 0 if there is none. */
    long version(int from, int slot) {
        return own.getLongAcquire(offset(from, slot));
    }

    /** The message in a rank's slot, if it has this version and is complete. */
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

    /** Bytes as words that lie in memory in the order of the bytes. */
    private static ByteBuffer words(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    }

    private static int padded(int bytes) {
        return (bytes + Long.BYTES - 1) & -Long.BYTES;
    }

    /** Never 0, which new memory has. */
    static long checksum(long version, byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(ByteBuffer.allocate(Long.BYTES).putLong(0, version));
        crc.update(bytes);
        return crc.getValue() + 1;
    }
}
