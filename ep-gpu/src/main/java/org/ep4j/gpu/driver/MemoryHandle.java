package org.ep4j.gpu.driver;

import java.lang.invoke.MethodHandles;
import java.util.HexFormat;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.plan.RecordCodec;

/**
 * Description of memory of a GPU by which others map it.
 *
 * @param kind who can map it
 * @param process its owner, as {@link GpuSharing#process}
 * @param gpu the GPU that it is on, by its number in the owner's process and its PCI address
 * @param address where it begins in the owner's process
 * @param offset where it begins in its allocation, in bytes
 * @param bytes its length
 * @param allocation length of its allocation
 * @param handle the driver's handle in hexadecimal digits; empty where there is none
 */
public record MemoryHandle(
        Kind kind, String process, String gpu, long address, long offset, long bytes, long allocation, String handle) {
    /** Set of processes that can map the memory. */
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

    private static final int LONGEST_TEXT = 256;

    private static final RecordCodec<MemoryHandle> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), MemoryHandle.class, "its memory handle", 2);

    /** Checks that the parts belong together. */
    public MemoryHandle {
        int digits = kind == Kind.PROCESS ? 0 : 2 * HANDLE_BYTES;
        if (handle.length() != digits || !handle.chars().allMatch(HexFormat::isHexDigit)) {
            throw new EpException("a memory handle of kind " + kind + " has "
                    + (handle.length() == digits
                            ? "characters that are no hexadecimal digits"
                            : handle.length() + " digits")
                    + ", expected " + digits + " hexadecimal digits");
        }
        if (process.length() > LONGEST_TEXT || gpu.length() > LONGEST_TEXT) {
            throw new EpException("a memory handle names its process in " + process.length()
                    + " characters and its GPU in " + gpu.length() + ", expected at most " + LONGEST_TEXT);
        }
        boolean inside = bytes > 0 && offset >= 0 && allocation >= bytes && offset <= allocation - bytes;
        if (!inside || address == 0) {
            throw new EpException("a memory handle describes " + bytes + " bytes at 0x" + Long.toHexString(address)
                    + ", " + offset + " bytes into an allocation of " + allocation
                    + ", expected memory inside its allocation");
        }
    }

    public byte[] encode() {
        return CODEC.encode(this);
    }

    /**
     * Reads {@link #encode}.
     *
     * @throws EpMismatchException when the bytes are no handle
     */
    public static MemoryHandle decode(byte[] encoded) {
        return CODEC.decode(encoded);
    }
}
