package org.ep4j.spi;

import java.util.Optional;
import org.ep4j.DeviceMemory;

/** Memory that a backend is to register with NICs: by its address, or as a dma-buf. Immutable. */
public sealed interface ExposedMemory {
    /** Ways to register memory. Constants may be added: keep a {@code default} where you switch over them. */
    enum Kind {
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
    record DmaBuf(int descriptor, long offset) {}

    /** Memory that is registered by its address. */
    static ExposedMemory of(DeviceMemory memory) {
        return new ExposedMemoryValue(memory, Optional.empty());
    }

    /** Memory that is registered as a dma-buf. */
    static ExposedMemory of(DeviceMemory memory, DmaBuf dmaBuf) {
        return new ExposedMemoryValue(memory, Optional.of(dmaBuf));
    }

    /** The range. */
    DeviceMemory memory();

    /** The same range as a file of the kernel; empty where it is registered by its address. */
    Optional<DmaBuf> dmaBuf();

    /** How the memory is to be registered. */
    default Kind kind() {
        if (dmaBuf().isPresent()) {
            return Kind.DMA_BUF;
        }
        return memory().device().isGpu() ? Kind.PEER_MEMORY : Kind.HOST;
    }
}

record ExposedMemoryValue(DeviceMemory memory, Optional<DmaBuf> dmaBuf) implements ExposedMemory {
    @Override
    public String toString() {
        return memory + " as " + kind();
    }
}
