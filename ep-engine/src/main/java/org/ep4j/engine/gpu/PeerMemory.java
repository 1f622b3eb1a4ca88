package org.ep4j.engine.gpu;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.ep4j.spi.ExposedMemory;

/** Whether the kernel understands addresses of GPU memory where NICs register memory. */
public final class PeerMemory {
    /** Of NVIDIA's own module. */
    private static final String MODULE = "sys/module/nvidia_peermem";

    /** Where NICs' drivers that are not the kernel's own list such modules; older ones are named nv_mem. */
    private static final String PEERS = "sys/kernel/mm/memory_peers";

    private PeerMemory() {}

    /** Why it does not on this machine, with what to do; empty where it does. */
    public static Optional<String> refusal() {
        return refusal(Path.of("/"));
    }

    /** For another root of the file system. */
    static Optional<String> refusal(Path root) {
        return Files.exists(root.resolve(MODULE)) || listed(root.resolve(PEERS))
                ? Optional.empty()
                : Optional.of("the kernel has not loaded nvidia_peermem, which understands addresses of GPU memory;"
                        + " modprobe nvidia_peermem");
    }

    private static boolean listed(Path folder) {
        try (Stream<Path> modules = Files.list(folder)) {
            return modules.anyMatch(module -> String.valueOf(module.getFileName()).startsWith("nv_mem"));
        } catch (java.io.IOException e) {
            return false;
        }
    }

    /** Why a kind of memory, registered by libibverbs or a provider of it, cannot be; of dma-buf as {@code dmaBuf} says. */
    public static Optional<String> refusal(ExposedMemory.Kind kind, Optional<String> dmaBuf) {
        return switch (kind) {
            case HOST -> Optional.empty();
            case DMA_BUF -> dmaBuf;
            case PEER_MEMORY -> refusal();
        };
    }
}
