package org.ep4j.gpu.driver;

import java.util.Optional;

/**
 * What a GPU's driver says of NICs that read and write its memory.
 *
 * @param refusal why they must not; empty where they may
 * @param withoutDmaBuf why the driver gives no memory out as dma-buf, with what to do; empty where it does
 * @param flushed whether the GPU sees what a NIC wrote only after a flush by the host ({@link NicMemory#flush}): a completion
 *     that the host has seen says nothing of what the GPU sees. False where the GPU sees writes in order
 * @param doubt why it is done only where it is asked for; empty where there is no doubt
 */
public record GpuDirect(
        Optional<String> refusal, Optional<String> withoutDmaBuf, boolean flushed, Optional<String> doubt) {
    /** Without doubt. */
    public GpuDirect(Optional<String> refusal, Optional<String> withoutDmaBuf, boolean flushed) {
        this(refusal, withoutDmaBuf, flushed, Optional.empty());
    }
}
