package org.ep4j.transport.memory;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Optional;
import org.ep4j.DeviceMemory;

/**
 * Access to a range of host memory of any length by offset. Bounds are checked; whether the range is still mapped is not.
 * Safe for use from several threads as far as plain memory is.
 *
 * <p>A {@link ByteBuffer} covers at most 2^31 - 1 bytes, so the range is seen through overlapping buffers that start at
 * every multiple of 2^30: any piece of up to 2^30 - 1 bytes lies inside one of them.
 */
public final class HostMemory implements Words {
    private static final int STRIDE_SHIFT = 30;
    private static final long STRIDE = 1L << STRIDE_SHIFT;
    private static final byte[] ZEROS = new byte[1 << 16];
    private static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final long base;
    private final long size;
    private final ByteBuffer[] windows;
    private final IntBuffer[] intWindows;
    private final LongBuffer[] longWindows;
    private final Optional<Futex> futex;

    private HostMemory(long base, long size, ByteBuffer[] windows, Optional<Futex> futex) {
        this.futex = futex;
        this.base = base;
        this.size = size;
        this.windows = windows;
        this.intWindows = new IntBuffer[windows.length];
        this.longWindows = new LongBuffer[windows.length];
        for (int i = 0; i < windows.length; i++) {
            intWindows[i] = windows[i].asIntBuffer();
            longWindows[i] = windows[i].asLongBuffer();
        }
    }

    /** Returns access to {@code memory}, which must be readable by this process. */
    public static HostMemory of(DeviceMemory memory) {
        return of(memory, Optional.empty());
    }

    /** Returns access to memory with counters, for which threads can sleep if there is a futex. */
    public static HostMemory of(DeviceMemory memory, Optional<Futex> futex) {
        long size = memory.byteSize();
        int count = (int) Math.max(1, (size + STRIDE - 1) >>> STRIDE_SHIFT);
        ByteBuffer[] windows = new ByteBuffer[count];
        for (int i = 0; i < count; i++) {
            long start = (long) i << STRIDE_SHIFT;
            windows[i] = buffer(memory.address() + start, Math.min(Integer.MAX_VALUE, size - start));
        }
        return new HostMemory(memory.address(), size, windows, futex);
    }

    /** Returns access to all of a direct buffer of up to 2^30 bytes, which stays as long as this does. */
    public static HostMemory of(ByteBuffer direct) {
        if (direct.capacity() > STRIDE) {
            throw new IllegalArgumentException(
                    "the buffer has " + direct.capacity() + " bytes, but may have at most " + STRIDE);
        }
        ByteBuffer all = direct.duplicate().clear().order(ByteOrder.nativeOrder());
        return new HostMemory(address(all), all.capacity(), new ByteBuffer[] {all}, Optional.empty());
    }

    /** A direct buffer over {@code length} bytes at {@code address}, in native byte order. */
    static ByteBuffer buffer(long address, long length) {
        return length == 0
                ? ByteBuffer.allocateDirect(0).order(ByteOrder.nativeOrder())
                : new Pointer(address).getByteBuffer(0, length).order(ByteOrder.nativeOrder());
    }

    /** Address of the first byte (not of the position) of a direct buffer. */
    public static long address(ByteBuffer direct) {
        return Pointer.nativeValue(Native.getDirectBufferPointer(direct));
    }

    /** Returns whether this gives access to exactly this range. */
    boolean isOf(DeviceMemory memory) {
        return base == memory.address() && size == memory.byteSize();
    }

    /** Length in bytes. */
    public long size() {
        return size;
    }

    /**
     * Returns the address of a piece, for native code.
     *
     * @throws IndexOutOfBoundsException when not all of it is inside
     */
    public long address(long offset, long bytes) {
        if (offset < 0 || bytes < 0 || offset > size - bytes) {
            throw new IndexOutOfBoundsException(
                    "[" + offset + ", " + offset + " + " + bytes + ") is not inside [0, " + size + ")");
        }
        return base + offset;
    }

    /**
     * Returns a piece of up to 2^30 - 1 bytes as a buffer of its own, for loops that count nanoseconds; its words are of native order. The
     * memory is there for as long as this object is referred to.
     */
    public ByteBuffer slice(long offset, int bytes) {
        return window(offset).slice(position(offset), bytes).order(ByteOrder.nativeOrder());
    }

    private ByteBuffer window(long offset) {
        return windows[(int) (offset >>> STRIDE_SHIFT)];
    }

    private static int position(long offset) {
        return (int) (offset & (STRIDE - 1));
    }

    /** Copies {@code bytes} bytes of {@code source} from {@code sourceOffset} to {@code offset} here. */
    public void copy(long offset, HostMemory source, long sourceOffset, long bytes) {
        long done = 0;
        while (done < bytes) {
            int piece = (int) Math.min(bytes - done, STRIDE - 1);
            window(offset + done)
                    .put(
                            position(offset + done),
                            source.window(sourceOffset + done),
                            position(sourceOffset + done),
                            piece);
            done += piece;
        }
    }

    /** Zeroes a range. */
    public void zero(long offset, long bytes) {
        long done = 0;
        while (done < bytes) {
            int piece = (int) Math.min(bytes - done, ZEROS.length);
            window(offset + done).put(position(offset + done), ZEROS, 0, piece);
            done += piece;
        }
    }

    /** Reads 32-bit words; {@code offset} is a multiple of 4. */
    public void getInts(long offset, int[] target, int from, int count) {
        intWindows[(int) (offset >>> STRIDE_SHIFT)].get(position(offset) >>> 2, target, from, count);
    }

    /** Writes 32-bit words; {@code offset} is a multiple of 4. */
    public void putInts(long offset, int[] source, int from, int count) {
        intWindows[(int) (offset >>> STRIDE_SHIFT)].put(position(offset) >>> 2, source, from, count);
    }

    /** Writes 64-bit words; {@code offset} is a multiple of 8. */
    public void putLongs(long offset, long[] source, int from, int count) {
        longWindows[(int) (offset >>> STRIDE_SHIFT)].put(position(offset) >>> 3, source, from, count);
    }

    /** Reads 64-bit words; {@code offset} is a multiple of 8. */
    public void getLongs(long offset, long[] target, int from, int count) {
        longWindows[(int) (offset >>> STRIDE_SHIFT)].get(position(offset) >>> 3, target, from, count);
    }

    /** Reads bytes. */
    public void getBytes(long offset, byte[] target, int from, int count) {
        window(offset).get(position(offset), target, from, count);
    }

    /** Writes bytes. */
    public void putBytes(long offset, byte[] source, int from, int count) {
        window(offset).put(position(offset), source, from, count);
    }

    /** Reads a byte. */
    public byte getByte(long offset) {
        return window(offset).get(position(offset));
    }

    /** Writes a byte. */
    public void putByte(long offset, byte value) {
        window(offset).put(position(offset), value);
    }

    /** Reads a 32-bit integer. */
    public int getInt(long offset) {
        return window(offset).getInt(position(offset));
    }

    @Override
    public void putInt(long offset, int value) {
        window(offset).putInt(position(offset), value);
    }

    /** Reads a binary32. */
    public float getFloat(long offset) {
        return window(offset).getFloat(position(offset));
    }

    /** Writes a binary32. */
    public void putFloat(long offset, float value) {
        window(offset).putFloat(position(offset), value);
    }

    @Override
    public long getLong(long offset) {
        return window(offset).getLong(position(offset));
    }

    @Override
    public void putLong(long offset, long value) {
        window(offset).putLong(position(offset), value);
    }

    @Override
    public long getLongAcquire(long offset) {
        return (long) LONG.getAcquire(window(offset), position(offset));
    }

    @Override
    public void putLongRelease(long offset, long value) {
        LONG.setRelease(window(offset), position(offset), value);
    }

    @Override
    public void advance(long offset, long value) {
        if (futex.isEmpty()) {
            putLongRelease(offset, value);
            return;
        }
        // Both sides store one word and then load the other, each with a full fence between: one of them sees what the
        // other stored.
        LONG.setVolatile(window(offset), position(offset), value);
        if ((long) LONG.getVolatile(window(offset + Long.BYTES), position(offset + Long.BYTES)) != 0) {
            futex.get().wake(lowHalf(offset));
        }
    }

    @Override
    public boolean sleep(long offset, long seen) {
        if (futex.isEmpty()) {
            return false;
        }
        long sleeping = offset + Long.BYTES;
        LONG.setVolatile(window(sleeping), position(sleeping), 1);
        try {
            return (long) LONG.getVolatile(window(offset), position(offset)) != seen
                    || futex.get().sleep(lowHalf(offset), (int) seen);
        } finally {
            LONG.setRelease(window(sleeping), position(sleeping), 0);
        }
    }

    /** Address of the half of a 64-bit word that changes with every number. */
    private long lowHalf(long offset) {
        return address(offset, Long.BYTES) + (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? 0 : Integer.BYTES);
    }

    /** Stores {@code value} if {@code expected} is there; returns false if something else is. */
    public boolean replaceLong(long offset, long expected, long value) {
        return LONG.compareAndSet(window(offset), position(offset), expected, value);
    }
}
