package org.ep4j.backend.ibrc;

import org.jspecify.annotations.Nullable;

/** One request, before it gets a queue pair. Reused, so that nothing is allocated where requests are made. */
final class Request {
    /** One of the operations of {@link Commands}. */
    int opcode;

    /** Address on the peer; for counters the word, in both ways of counting. */
    long remote;

    /** Address here. */
    long local;

    int length;

    /** What is added to the word. */
    long add;

    /** What the word is afterwards. */
    long after;

    int immediate;

    /** What {@code local} lies in. */
    @Nullable
    Region source;

    /** What {@code remote} lies in. */
    @Nullable
    Region target;

    Request write(Region to, long remoteAddress, Region from, long localAddress, int bytes) {
        opcode = Commands.WRITE;
        remote = remoteAddress;
        local = localAddress;
        length = bytes;
        add = 0;
        after = 0;
        immediate = 0;
        source = from;
        target = to;
        return this;
    }

    Request read(Region from, long remoteAddress, Region to, long localAddress, int bytes) {
        write(from, remoteAddress, to, localAddress, bytes);
        opcode = Commands.READ;
        return this;
    }

    /** Adds to a word; the old value goes to {@code scratch}. */
    Request add(Region to, long word, long delta, long result, Region from, long scratch) {
        write(to, word, from, scratch, Long.BYTES);
        opcode = Commands.ADD;
        add = delta;
        after = result;
        return this;
    }

    /** Makes the peer add to a word. */
    Request immediate(Region to, long word, int code, long result) {
        write(to, word, to, 0, 0);
        opcode = Commands.IMMEDIATE;
        immediate = code;
        after = result;
        return this;
    }

    boolean counts() {
        return opcode == Commands.ADD || opcode == Commands.IMMEDIATE;
    }
}
