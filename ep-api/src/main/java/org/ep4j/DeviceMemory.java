package org.ep4j;

import java.util.Optional;

/**
 * A range of memory on a device, by address. The caller keeps the memory allocated for as long as an operation or a
 * result uses it. Immutable; equal to ranges of the same address, length and device, regardless of owner.
 */
public final class DeviceMemory {
    private final long address;
    private final long byteSize;
    private final Device device;

    /** Not part of equality: to compare or hash a direct buffer would read all of it. */
    private final Optional<Object> owner;

    private DeviceMemory(long address, long byteSize, Device device, Optional<Object> owner) {
        this.address = address;
        this.byteSize = byteSize;
        this.device = device;
        this.owner = owner;
    }

    /**
     * Returns a range that keeps nothing reachable.
     *
     * @param address first byte, as the device's programs see it; never 0 unless the range is empty
     * @param byteSize length in bytes
     * @param device where the memory is
     * @throws EpArgumentException when the length is negative, the address is 0, or the range passes 2^64
     */
    public static DeviceMemory of(long address, long byteSize, Device device) {
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
        return new DeviceMemory(address, byteSize, device, Optional.empty());
    }

    /**
     * Returns this range as one that keeps {@code owner} reachable, such as the object whose garbage collection frees the
     * memory; the memory can still be freed explicitly. On the host, operations keep the range until they end. On a GPU
     * they do so only until they are queued, and an asynchronous one through its result: keep the tensor, the request or the
     * result until the event is done, after a timeout until the buffer is closed, and for a graph as long as it is launched.
     *
     * @throws EpArgumentException when this range keeps something else already, as memory of an arena, a buffer or a
     *     direct buffer does
     */
    public DeviceMemory keeping(Object owner) {
        if (this.owner.isPresent()) {
            throw new EpArgumentException(
                    "memory",
                    "a range that already keeps an owner",
                    "a range that keeps nothing",
                    "keep the object reachable yourself");
        }
        return new DeviceMemory(address, byteSize, device, Optional.of(owner));
    }

    /**
     * Returns the {@code bytes} bytes of this range that begin at {@code offset}; they keep reachable what this range keeps.
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
        return new DeviceMemory(address + offset, bytes, device, owner);
    }

    /** First byte, as the device's programs see it; 0 only where the range is empty. */
    public long address() {
        return address;
    }

    /** Length in bytes. */
    public long byteSize() {
        return byteSize;
    }

    /** Device that the memory is on. */
    public Device device() {
        return device;
    }

    /** Object that this range keeps reachable: the one passed to {@link #keeping}, or the one that ep4j allocated the memory with. */
    public Optional<Object> owner() {
        return owner;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof DeviceMemory that
                && address == that.address
                && byteSize == that.byteSize
                && device.equals(that.device);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * Long.hashCode(address) + Long.hashCode(byteSize)) + device.hashCode();
    }

    @Override
    public String toString() {
        return byteSize + " bytes on " + device + " at 0x" + Long.toHexString(address);
    }
}
