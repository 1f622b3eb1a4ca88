package org.ep4j.backend.ibrc;

import org.ep4j.engine.collective.NicFlow;
import org.jspecify.annotations.Nullable;

/** What was posted to one queue pair and has not been reported complete: enough to post it again. A ring. */
final class SendLog {
    private final NicFlow nic;
    private final int mask;
    private final byte[] opcode;
    private final long[] remote;
    private final long[] local;
    private final int[] length;
    private final boolean[] message;
    private final long[] add;
    private final long[] after;
    private final int[] immediate;
    private final long[] word;
    private final @Nullable Region[] source;
    private final @Nullable Region[] target;
    private final @Nullable Region[] counted;
    private long posted;
    private long retired;
    private boolean abandoned;

    /**
     * An empty log.
     *
     * @param nic whose room its writes have
     */
    SendLog(int depth, NicFlow nic) {
        this.nic = nic;
        int size = Integer.highestOneBit(Math.max(2, depth - 1)) << 1;
        this.mask = size - 1;
        this.opcode = new byte[size];
        this.remote = new long[size];
        this.local = new long[size];
        this.length = new int[size];
        this.message = new boolean[size];
        this.add = new long[size];
        this.after = new long[size];
        this.immediate = new int[size];
        this.word = new long[size];
        this.source = new Region[size];
        this.target = new Region[size];
        this.counted = new Region[size];
    }

    /** Number of the next request. */
    long posted() {
        return posted;
    }

    /** Number of the oldest request that is not reported complete. */
    long retired() {
        return retired;
    }

    /** Requests under way. */
    int pending() {
        return (int) (posted - retired);
    }

    /** Notes a request; returns its number. A write that has no room on the NIC yet, such as one that is repeated, goes beyond the limits. */
    long append(Request request) {
        int slot = (int) posted & mask;
        opcode[slot] = (byte) request.opcode;
        remote[slot] = request.remote;
        local[slot] = request.local;
        length[slot] = request.length;
        message[slot] = request.message;
        add[slot] = request.add;
        after[slot] = request.after;
        immediate[slot] = request.immediate;
        if (request.writes() && !request.hasRoom) {
            nic.takeAnyway(request.length, request.message);
        }
        word[slot] = request.word;
        source[slot] = request.source;
        target[slot] = request.target;
        counted[slot] = request.counted;
        return posted++;
    }

    /** The newest request, a write, now also makes the peer add to a word. */
    void count(Region to, long toWord, int code, long result) {
        int slot = (int) (posted - 1) & mask;
        opcode[slot] = Commands.IMMEDIATE;
        counted[slot] = to;
        word[slot] = toWord;
        immediate[slot] = code;
        after[slot] = result;
    }

    /** Reads a request. */
    void read(long number, Request into) {
        int slot = (int) number & mask;
        into.opcode = opcode[slot];
        into.remote = remote[slot];
        into.local = local[slot];
        into.length = length[slot];
        into.message = message[slot];
        into.hasRoom = false;
        into.add = add[slot];
        into.after = after[slot];
        into.immediate = immediate[slot];
        into.word = word[slot];
        into.source = source[slot];
        into.target = target[slot];
        into.counted = counted[slot];
    }

    /** Everything before {@code number} is done. */
    void retire(long number) {
        while (retired < number) {
            int slot = (int) retired & mask;
            giveRoom(slot);
            source[slot] = null;
            target[slot] = null;
            counted[slot] = null;
            retired++;
        }
    }

    private void giveRoom(int slot) {
        if (!abandoned && (opcode[slot] == Commands.WRITE || opcode[slot] == Commands.IMMEDIATE)) {
            nic.give(length[slot], message[slot]);
        }
    }

    /** Nothing of it is in flight any more: other links get its room on the NIC. */
    void abandon() {
        for (long number = retired; number < posted; number++) {
            giveRoom((int) number & mask);
        }
        abandoned = true;
    }
}
