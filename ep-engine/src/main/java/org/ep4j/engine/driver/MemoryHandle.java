package org.ep4j.engine.driver;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.ep4j.EpException;

/**
 * Memory of a GPU as its owner tells others about it, so that they can map it.
 *
 * @param kind what the handle is
 * @param process who owns it, as {@link GpuSharing#process}
 * @param gpu the GPU that it is on, by its number in the owner's process and its PCI address
 * @param address where it begins in the owner's process
 * @param offset where it begins in its allocation, in bytes
 * @param bytes its length
 * @param allocation length of its allocation
 * @param handle the driver's handle in hexadecimal digits; empty where there is none
 */
public record MemoryHandle(
        Kind kind, String process, String gpu, long address, long offset, long bytes, long allocation, String handle) {
    /** Who can map the memory. */
    public enum Kind {
        /** The owner's process alone. */
        PROCESS,
        /** Processes of the host, by a handle of {@code cuIpc} or {@code hipIpc}. */
        IPC,
        /** Processes of the NVLink domain, by a {@code CUmemFabricHandle}. */
        FABRIC
    }

    /** Bytes of both kinds of handle. */
    public static final int HANDLE_BYTES = 64;

    private static final int MAGIC = 0x45504D48;
    private static final int LONGEST_TEXT = 256;

    /** Checks that the parts belong together. */
    public MemoryHandle {
        int digits = kind == Kind.PROCESS ? 0 : 2 * HANDLE_BYTES;
        if (handle.length() != digits) {
            throw new EpException("a memory handle of kind " + kind + " has " + handle.length() + " digits, expected "
                    + digits + "; run the same ep4j version on all ranks");
        }
        boolean inside = bytes > 0 && offset >= 0 && allocation >= bytes && offset <= allocation - bytes;
        if (!inside || address == 0) {
            throw new EpException("a memory handle describes " + bytes + " bytes at 0x" + Long.toHexString(address)
                    + ", " + offset + " bytes into an allocation of " + allocation
                    + ", expected memory inside its allocation; run the same ep4j version on all ranks");
        }
    }

    /** As bytes. */
    public byte[] encode() {
        List<byte[]> parts = List.of(
                kind.name().getBytes(StandardCharsets.UTF_8),
                process.getBytes(StandardCharsets.UTF_8),
                gpu.getBytes(StandardCharsets.UTF_8),
                HexFormat.of().parseHex(handle));
        int length =
                parts.stream().mapToInt(part -> Integer.BYTES + part.length).sum();
        ByteBuffer out = ByteBuffer.allocate(Integer.BYTES + 4 * Long.BYTES + length)
                .putInt(MAGIC)
                .putLong(address)
                .putLong(offset)
                .putLong(bytes)
                .putLong(allocation);
        parts.forEach(part -> out.putInt(part.length).put(part));
        return out.array();
    }

    /**
     * Reads {@link #encode}.
     *
     * @throws EpException when the bytes are no handle
     */
    public static MemoryHandle decode(byte[] encoded) {
        try {
            ByteBuffer in = ByteBuffer.wrap(encoded);
            if (in.getInt() != MAGIC) {
                throw malformed(encoded);
            }
            long address = in.getLong();
            long offset = in.getLong();
            long bytes = in.getLong();
            long allocation = in.getLong();
            String name = new String(part(in, encoded), StandardCharsets.UTF_8);
            Kind kind = Arrays.stream(Kind.values())
                    .filter(one -> one.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> malformed(encoded));
            String process = new String(part(in, encoded), StandardCharsets.UTF_8);
            String gpu = new String(part(in, encoded), StandardCharsets.UTF_8);
            String handle = HexFormat.of().formatHex(part(in, encoded));
            if (in.hasRemaining()) {
                throw malformed(encoded);
            }
            return new MemoryHandle(kind, process, gpu, address, offset, bytes, allocation, handle);
        } catch (BufferUnderflowException e) {
            throw malformed(encoded);
        }
    }

    private static byte[] part(ByteBuffer in, byte[] encoded) {
        int length = in.getInt();
        if (length < 0 || length > LONGEST_TEXT || length > in.remaining()) {
            throw malformed(encoded);
        }
        byte[] part = new byte[length];
        in.get(part);
        return part;
    }

    private static EpException malformed(byte[] encoded) {
        return new EpException("a rank announced its GPU memory in a message of " + encoded.length
                + " bytes that is not a memory handle; run the same ep4j version on all ranks");
    }
}
