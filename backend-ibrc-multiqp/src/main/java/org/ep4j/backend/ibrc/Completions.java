package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.transport.memory.NativeRecord;

/**
 * Completions that a poll found, as {@code ep4j::Completion} lays them out. An id has the lane of the request, its
 * number on the lane, and whether it is a receive; after an error only id, status and vendor error are valid.
 */
final class Completions {
    /** {@code IBV_WC_WR_FLUSH_ERR}. */
    static final int FLUSHED = 5;

    /** {@code IBV_WC_RETRY_EXC_ERR}. */
    static final int RETRIES_EXCEEDED = 12;

    // Others of enum ibv_wc_status.
    private static final int LOCAL_QP = 2;
    private static final int RNR_RETRIES_EXCEEDED = 13;
    private static final int REMOTE_ABORT = 16;
    private static final int FATAL = 19;
    private static final int RESPONSE_TIMEOUT = 20;
    private static final int GENERAL = 21;

    private static final int LANE_SHIFT = 48;
    private static final long NUMBER = (1L << LANE_SHIFT) - 1;
    private static final long RECEIVE = 1L << 62;

    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final int SIZE = 24;

    private final NativeRecord record;
    private final ByteBuffer buffer;
    private final int capacity;

    Completions(int capacity) {
        this.record = new NativeRecord(capacity * SIZE);
        this.buffer = record.buffer();
        this.capacity = capacity;
    }

    int capacity() {
        return capacity;
    }

    long address() {
        return record.address();
    }

    void set(int index, long id, int status, int vendor, int immediate) {
        int at = index * SIZE;
        LONG.set(buffer, at, id);
        INT.set(buffer, at + 8, status);
        INT.set(buffer, at + 12, vendor);
        INT.set(buffer, at + 16, immediate);
    }

    long id(int index) {
        return (long) LONG.get(buffer, index * SIZE);
    }

    /** {@code enum ibv_wc_status}; 0 is success. */
    int status(int index) {
        return (int) INT.get(buffer, index * SIZE + 8);
    }

    int vendor(int index) {
        return (int) INT.get(buffer, index * SIZE + 12);
    }

    int immediate(int index) {
        return (int) INT.get(buffer, index * SIZE + 16);
    }

    /**
     * A completion that is no success, for messages.
     *
     * @param status text of its status
     */
    String text(int index, String status) {
        return "status " + status(index) + " (" + status + "), vendor error 0x" + Integer.toHexString(vendor(index));
    }

    static long sendId(int lane, long number) {
        return ((long) lane << LANE_SHIFT) | (number & NUMBER);
    }

    static long receiveId(int lane) {
        return RECEIVE | ((long) lane << LANE_SHIFT);
    }

    static boolean isReceive(long id) {
        return (id & RECEIVE) != 0;
    }

    static int lane(long id) {
        return (int) ((id >>> LANE_SHIFT) & 0x3fff);
    }

    /** The number on the lane, which is the one nearest to {@code near} with these bits. */
    static long number(long id, long near) {
        long distance = (id - near) << 16 >> 16;
        return near + distance;
    }

    /**
     * Returns true if the path to the peer failed, so that another path may do; false if the request itself was
     * refused.
     */
    static boolean isPathFailure(int status) {
        return switch (status) {
            case LOCAL_QP,
                    FLUSHED,
                    RETRIES_EXCEEDED,
                    RNR_RETRIES_EXCEEDED,
                    REMOTE_ABORT,
                    FATAL,
                    RESPONSE_TIMEOUT,
                    GENERAL -> true;
            default -> false;
        };
    }
}
