package org.ep4j.engine.gpu;

import java.util.Collection;
import java.util.Optional;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.collective.MappedBackend;
import org.ep4j.spi.EpBackend;

/**
 * How kernels tell other GPUs that data is there: {@code ep.gpu.publish}. A release is right on every memory. On AMD GPUs it
 * writes the caches of the GPU back, for every counter and flag; a relaxed store, after the GPU has acknowledged the data, does
 * not. That is right only where all that peers read lies in uncached memory, and where what is acknowledged has arrived: over
 * xGMI, not over PCIe, whose writes nobody acknowledges.
 */
public final class Publishing {
    private Publishing() {}

    /** Whether kernels are to publish by relaxed stores. */
    static boolean isRelaxed(EpConfig config) {
        return config.get(EpKeys.PUBLISH).equals("relaxed");
    }

    /**
     * Looks whether kernels may publish as is wanted.
     *
     * @param backends those of the rank that are open
     * @throws EpUnavailableException when not, with the reason
     */
    public static void check(GpuDevice device, Collection<EpBackend> backends, EpConfig config) {
        if (isRelaxed(config)) {
            device.unfitForRelaxedStores().or(() -> unfit(backends)).ifPresent(reason -> {
                throw new EpUnavailableException(
                        "relaxed stores (" + EpKeys.PUBLISH.name() + "=relaxed) cannot publish on " + device.id() + ": "
                                + reason + "; leave " + EpKeys.PUBLISH.name() + " at release");
            });
        }
    }

    private static Optional<String> unfit(Collection<EpBackend> backends) {
        Optional<EpBackend> allocator =
                backends.stream().filter(EpBackend::allocates).findFirst();
        if (allocator.isEmpty()) {
            return Optional.of("its symmetric memory is cached, because no backend maps it");
        }
        return allocator.get() instanceof MappedBackend mapped
                ? mapped.detour().map(peer -> peer + ", where an acknowledged write may not have arrived yet")
                : Optional.of("symmetric memory that " + allocator.get().id() + " maps may be cached");
    }
}
