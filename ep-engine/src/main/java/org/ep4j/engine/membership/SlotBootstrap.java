package org.ep4j.engine.membership;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.transport.Pause;

/**
 * All-gathers among the members of one epoch, through {@link ControlSlots}, for the steps in which a buffer moves. No rank has a
 * special role.
 *
 * <p>A gather takes rounds, in each of which every member writes at most {@link ControlSlots#EXCHANGE_BYTES} to each other one and
 * reads what the others wrote. Two members use two slots in turn: a member that writes for round n + 2 has read the other's message of
 * round n + 1, and the other had read round n before it wrote that. For one thread; members call in the same order.
 */
final class SlotBootstrap implements Bootstrap {
    /** Bytes before the data of a message: checksum of the tag, whole length. */
    private static final int HEAD = 2 * Long.BYTES;

    private static final int PART = ControlSlots.EXCHANGE_BYTES - HEAD;

    private final BufferMembership membership;
    private final long epoch;
    private final List<Integer> members;
    private final int self;
    private final Progress progress;

    /** Progress of the gathers of an epoch on this rank. Shared with subgroups. */
    private static final class Progress {
        /** By rank: rounds with it. */
        private final long[] rounds;
        /** A gather has not ended here: others may still be in it, so there must be no later one. */
        private boolean broken;

        Progress(int ranks) {
            rounds = new long[ranks];
        }
    }

    /** Creates it among the members of an epoch, which are ranks in ascending order. */
    SlotBootstrap(BufferMembership membership, long epoch, List<Integer> members) {
        this(membership, epoch, members, new Progress(membership.slots.ranks()));
    }

    private SlotBootstrap(BufferMembership membership, long epoch, List<Integer> members, Progress progress) {
        this.membership = membership;
        this.epoch = epoch;
        this.members = List.copyOf(members);
        this.self = members.indexOf(membership.self);
        this.progress = progress;
    }

    @Override
    public int rank() {
        return self;
    }

    @Override
    public int size() {
        return members.size();
    }

    @Override
    public List<byte[]> allGather(String tag, byte[] mine, Duration deadline) {
        if (progress.broken) {
            throw new EpException(
                    "an earlier step of the recovery has not ended on this rank", EpException.Recourse.RECOVER);
        }
        progress.broken = true;
        List<byte[]> all = gather(tag, mine, deadline);
        progress.broken = false;
        return all;
    }

    private List<byte[]> gather(String tag, byte[] mine, Duration deadline) {
        long end = membership.clock().nanoTime() + deadline.toNanos();
        long name = checksum(tag);
        List<ByteArrayOutputStream> got = new ArrayList<>();
        long[] lengths = new long[members.size()];
        for (int i = 0; i < members.size(); i++) {
            got.add(new ByteArrayOutputStream());
        }
        long most = mine.length;
        for (int part = 0; part == 0 || (long) part * PART < most; part++) {
            send(name, mine, part);
            for (int i = 0; i < members.size(); i++) {
                if (i == self) {
                    continue;
                }
                ByteBuffer message = ByteBuffer.wrap(receive(i, tag, end, deadline));
                if (message.getLong() != name) {
                    throw new EpException(
                            "rank " + members.get(i) + " is at another step of the recovery than \"" + tag
                                    + "\": that rank failed at an earlier step, or a backend has a defect; see the log of that"
                                    + " rank, then call recover again",
                            EpException.Recourse.RECOVER);
                }
                lengths[i] = message.getLong();
                most = Math.max(most, lengths[i]);
                got.get(i).write(message.array(), message.position(), message.remaining());
            }
            for (int rank : members) {
                progress.rounds[rank]++;
            }
        }
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
            all.add(i == self ? mine.clone() : got.get(i).toByteArray());
        }
        return all;
    }

    private void send(long name, byte[] mine, int part) {
        int from = Math.min(part * PART, mine.length);
        int bytes = Math.min(PART, mine.length - from);
        byte[] message = ByteBuffer.allocate(HEAD + bytes)
                .putLong(name)
                .putLong(mine.length)
                .put(mine, from, bytes)
                .array();
        for (int rank : members) {
            if (rank != membership.self) {
                membership.slots.send(rank, slot(rank), version(rank), message);
            }
        }
    }

    private byte[] receive(int member, String tag, long end, Duration deadline) {
        int rank = members.get(member);
        int tries = 0;
        while (true) {
            Optional<byte[]> message = membership.slots.read(rank, slot(rank), version(rank));
            if (message.isPresent()) {
                return message.get();
            }
            membership.requireCurrent(epoch);
            if (membership.clock().nanoTime() - end >= 0) {
                throw new EpTimeoutException(
                        "rank " + rank + " did not take part in \"" + tag + "\", a step of the recovery, within "
                                + deadline.toMillis() + " ms",
                        EpFailure.builder("recover", member)
                                .expected(progress.rounds[rank])
                                .seen(Math.max(0, (membership.slots.version(rank, slot(rank)) & 0xFFFF_FFFFL) - 1))
                                .build());
            }
            Pause.after(tries++);
        }
    }

    private int slot(int rank) {
        return ControlSlots.EXCHANGE + (int) (progress.rounds[rank] & 1);
    }

    /** Version of the next message to a rank; grows with epoch and round, and an epoch has one move. */
    private long version(int rank) {
        return (epoch << 32) + progress.rounds[rank] + 1;
    }

    private static long checksum(String tag) {
        CRC32C crc = new CRC32C();
        crc.update(tag.getBytes(StandardCharsets.UTF_8));
        return crc.getValue();
    }

    @Override
    public MemberState state(int rank) {
        return membership.state(members.get(rank));
    }

    @Override
    public boolean provesLosses() {
        return membership.bootstrap.provesLosses();
    }

    @Override
    public long stateChanges() {
        return membership.bootstrap.stateChanges();
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> ranks) {
        return new SlotBootstrap(
                membership, epoch, ranks.stream().map(members::get).toList(), progress);
    }

    @Override
    public void close() {
        // The slots belong to the buffer.
    }
}
