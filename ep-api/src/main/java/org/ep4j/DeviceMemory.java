package org.ep4j;

import java.util.Optional;

/**
 * A range of memory on a device, by address. Without an owner, the caller keeps the memory allocated for as long as an
 * operation or a result uses it.
 *
 * @param address first byte, as the device's programs see it; never 0 unless the range is empty
 * @param byteSize length in bytes
 * @param device where the memory is
 * @param owner what the memory belongs to: a direct buffer, which frees it once it is unreachable, or an allocation of a device, which
 *     knows whether it is closed; this range keeps it reachable
 */
public record DeviceMemory(long address, long byteSize, Device device, Optional<Object> owner) {
    /** Checks the range. */
    public DeviceMemory {
        if (byteSize < 0) {
            throw new EpArgumentException("byteSize", byteSize, ">= 0", "pass the length of the range in bytes");
        }
        if (address == 0 && byteSize > 0) {
            throw new EpArgumentException("address", 0, "non-zero", "pass the address of allocated memory");
        }
        if (byteSize > 0 && Long.compareUnsigned(address + (byteSize - 1), address) < 0) {
            throw new EpArgumentException(
                    "byteSize",
                    byteSize,
                    "so small that the range from 0x" + Long.toHexString(address) + " ends within 64-bit addresses",
                    "pass the length of the range in bytes");
        }
    }

    /** Creates a range without an owner: the caller keeps the memory alive. */
    public DeviceMemory(long address, long byteSize, Device device) {
        this(address, byteSize, device, Optional.empty());
    }

    /**
     * Returns the {@code bytes} bytes of this range that begin at {@code offset}.
     *
     * @param offset first byte of the part, from the start of this range
     * @param bytes length of the part
     * @throws EpArgumentException when the part does not lie inside this range
     */
    public DeviceMemory slice(long offset, long bytes) {
        if (offset < 0 || bytes < 0 || offset > byteSize - bytes) {
            throw new EpArgumentException(
                    "slice",
                    "[" + offset + ", " + offset + " + " + bytes + ")",
                    "inside [0, " + byteSize + ")",
                    "choose an offset and a length inside the memory");
        }
        return new DeviceMemory(bytes == 0 && address == 0 ? 0 : address + offset, bytes, device, owner);
    }

    @Override
    public String toString() {
        return byteSize + " bytes on " + device + " at 0x" + Long.toHexString(address);
    }
}
