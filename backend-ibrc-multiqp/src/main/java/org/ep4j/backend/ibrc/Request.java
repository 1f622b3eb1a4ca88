package org.ep4j.backend.ibrc;

import org.jspecify.annotations.Nullable;

/** One request, before it gets a queue pair. Reused, so that nothing is allocated where requests are made. */
final class Request {
    /** One of the operations of {@link Commands}. */
    int opcode;

    /** Address on the peer. */
    long remote;

    /** Address here. */
    long local;

    int length;

    /** Whether it is of low latency or control data: see {@link org.ep4j.spi.HostPosted#writeMessage}. */
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
        opcode = Commands.WRITE;
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
        opcode = Commands.READ;
        return this;
    }

    /** Adds to a word; the old value goes to {@code scratch}. */
    Request add(Region to, long toWord, long delta, long result, Region from, long scratch) {
        write(to, toWord, from, scratch, Long.BYTES);
        opcode = Commands.ADD;
        counted = to;
        word = toWord;
        add = delta;
        after = result;
        return this;
    }

    /** Makes the peer add to a word, and writes nothing. */
    Request immediate(Region to, long toWord, int code, long result) {
        write(to, 0, to, 0, 0);
        opcode = Commands.IMMEDIATE;
        counted = to;
        word = toWord;
        immediate = code;
        after = result;
        return this;
    }

    /** True when it writes bytes of a caller. */
    boolean writes() {
        return length > 0 && (opcode == Commands.WRITE || opcode == Commands.IMMEDIATE);
    }
}
