package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.engine.memory.NativeRecord;

/** Work requests that wait to be posted, as {@code ep4j::Command} lays them out. For one thread at a time. */
final class Commands {
    /** Writes bytes. */
    static final int WRITE = 0;

    /** Adds to a word. */
    static final int ADD = 1;

    /** Writes bytes, or none, and gives the peer 32 bits. */
    static final int IMMEDIATE = 2;

    /** Reads bytes. */
    static final int READ = 3;

    /** {@code IBV_SEND_SIGNALED}. */
    static final int SIGNALED = 2;

    /** {@code IBV_SEND_INLINE}. */
    static final int INLINE = 8;

    // Compilers make one instruction of them, those for quick starting too; calls of a buffer's methods are several to
    // these.
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private static final int SIZE = 64;
    private static final int FLAGS = 60;

    private final NativeRecord record;
    private final ByteBuffer buffer;
    private final int capacity;
    private final NativeRecord error = new NativeRecord(4);
    private final int[] lanes;
    private int count;

    Commands(int capacity) {
        this.record = new NativeRecord(capacity * SIZE);
        this.buffer = record.buffer();
        this.capacity = capacity;
        this.lanes = new int[capacity];
    }

    int count() {
        return count;
    }

    boolean full() {
        return count == capacity;
    }

    void clear() {
        count = 0;
    }

    /** Appends one. */
    void add(
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
    void count(int index, int immediate) {
        INT.set(buffer, index * SIZE + 52, immediate);
        INT.set(buffer, index * SIZE + 56, IMMEDIATE);
    }

    int lane(int index) {
        return lanes[index];
    }

    void signal(int index) {
        INT.set(buffer, index * SIZE + FLAGS, flags(index) | SIGNALED);
    }

    long qp(int index) {
        return (long) LONG.get(buffer, index * SIZE);
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

    int rkey(int index) {
        return (int) INT.get(buffer, index * SIZE + 40);
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
