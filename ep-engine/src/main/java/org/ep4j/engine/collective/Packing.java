package org.ep4j.engine.collective;

import java.nio.BufferOverflowException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.ep4j.EpMismatchException;
import org.jspecify.annotations.Nullable;

/** Records that ranks give each other: little-endian, with a version before them. */
public final class Packing {
    private static final int VERSION = 1;
    private static final int MOST = 1 << 24;

    private Packing() {}

    /** The bytes of what {@code fields} puts. */
    public static byte[] pack(Consumer<ByteBuffer> fields) {
        int size = 1 << 12;
        while (true) {
            ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
            try {
                out.putInt(VERSION);
                fields.accept(out);
                return Arrays.copyOf(out.array(), out.position());
            } catch (BufferOverflowException e) {
                size *= 4;
                if (size > MOST) {
                    throw e;
                }
            }
        }
    }

    /**
     * Reads what {@link #pack} made.
     *
     * @param what it is, for messages
     * @throws EpMismatchException when it is not of this version, or longer or shorter
     */
    public static <T> T unpack(byte[] bytes, String what, Function<ByteBuffer, T> fields) {
        try {
            ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            int version = in.getInt();
            if (version == VERSION) {
                T value = fields.apply(in);
                if (!in.hasRemaining()) {
                    return value;
                }
            }
        } catch (BufferUnderflowException | IllegalArgumentException | NegativeArraySizeException e) {
            throw wrong(what, bytes, e);
        }
        throw wrong(what, bytes, null);
    }

    private static EpMismatchException wrong(String what, byte[] bytes, @Nullable Exception e) {
        EpMismatchException wrong = new EpMismatchException("a rank sent " + what + " in a message of " + bytes.length
                + " bytes that this version cannot decode; run the same ep4j version on all ranks");
        if (e != null) {
            wrong.initCause(e);
        }
        return wrong;
    }

    /** Puts a text of up to 65535 bytes. */
    public static void text(ByteBuffer out, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.putShort((short) bytes.length).put(bytes);
    }

    /** Takes a text. */
    public static String text(ByteBuffer in) {
        byte[] bytes = new byte[in.getShort() & 0xffff];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Puts numbers, and how many there are. */
    public static void ints(ByteBuffer out, List<Integer> values) {
        out.putInt(values.size());
        for (int value : values) {
            out.putInt(value);
        }
    }

    /** Takes numbers that {@link #ints(ByteBuffer, List)} put. */
    public static List<Integer> ints(ByteBuffer in) {
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / Integer.BYTES) {
            throw new IllegalArgumentException("count " + count);
        }
        List<Integer> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            values.add(in.getInt());
        }
        return values;
    }
}
