package org.ep4j.spi;

import java.util.Objects;
import java.util.Optional;
import org.apiguardian.api.API;
import org.ep4j.DeviceMemory;

/** Memory that a backend is to register with NICs: by its address, or as a dma-buf. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class ExposedMemory {
    /** Ways to register memory. Constants may be added: keep a {@code default} where you switch over them. */
    @API(status = API.Status.STABLE, since = "0.1")
    public enum Kind {
        /** Memory of the host, by its address. */
        HOST("host memory"),
        /** Memory of a GPU, by a file of the kernel (Linux 5.12 and newer). */
        DMA_BUF("dma-buf"),
        /** Memory of a GPU, by its address, which a module of the kernel understands ({@code nvidia_peermem}). */
        PEER_MEMORY("peer memory");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        /** Name for messages, for example {@code dma-buf}. */
        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * A dma-buf, and the offset at which the memory begins in it. It belongs to its creator, which closes it when
     * {@link RegistersMemory#register} has returned or later.
     *
     * @param descriptor number of the open file
     * @param offset of the memory's first byte in it
     */
    @API(status = API.Status.STABLE, since = "0.1")
    public record DmaBuf(int descriptor, long offset) {}

    private final DeviceMemory memory;
    private final Optional<DmaBuf> dmaBuf;

    private ExposedMemory(DeviceMemory memory, Optional<DmaBuf> dmaBuf) {
        this.memory = memory;
        this.dmaBuf = dmaBuf;
    }

    /** Memory that is registered by its address. */
    public static ExposedMemory of(DeviceMemory memory) {
        return new ExposedMemory(memory, Optional.empty());
    }

    /** Memory that is registered as a dma-buf. */
    public static ExposedMemory of(DeviceMemory memory, DmaBuf dmaBuf) {
        return new ExposedMemory(memory, Optional.of(dmaBuf));
    }

    /** The range. */
    public DeviceMemory memory() {
        return memory;
    }

    /** The same range as a file of the kernel; empty where it is registered by its address. */
    public Optional<DmaBuf> dmaBuf() {
        return dmaBuf;
    }

    /** How the memory is to be registered. */
    public Kind kind() {
        if (dmaBuf.isPresent()) {
            return Kind.DMA_BUF;
        }
        return memory.device().isGpu() ? Kind.PEER_MEMORY : Kind.HOST;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ExposedMemory that && memory.equals(that.memory) && dmaBuf.equals(that.dmaBuf);
    }

    @Override
    public int hashCode() {
        return Objects.hash(memory, dmaBuf);
    }

    /** The range and how it is to be registered, for messages. */
    @Override
    public String toString() {
        return memory + " as " + kind();
    }
}
