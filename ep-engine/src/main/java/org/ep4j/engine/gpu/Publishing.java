package org.ep4j.engine.gpu;

import java.util.Collection;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
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
        return EpKeys.GPU_PUBLISH.get(config).equals("relaxed");
    }

    /**
     * Looks whether kernels may publish as is wanted.
     *
     * @param backends those of the rank that are open
     * @throws EpUnavailableException when not, with the reason
     */
    public static void check(EngineGpu device, Collection<EpBackend> backends, EpConfig config) {
        if (isRelaxed(config)) {
            device.relaxedStoresRefusal().or(() -> unfit(backends)).ifPresent(reason -> {
                throw new EpUnavailableException(
                        "relaxed stores (" + EpKeys.GPU_PUBLISH.name() + "=relaxed) cannot publish on " + device.id()
                                + ": " + reason + "; leave " + EpKeys.GPU_PUBLISH.name() + " at release");
            });
        }
    }

    private static Optional<String> unfit(Collection<EpBackend> backends) {
        for (EpBackend backend : backends) {
            Optional<AllocatesMemory> allocator = backend.as(AllocatesMemory.class)
                    .filter(one -> one.purposes().contains(Purpose.MAPPED));
            if (allocator.isPresent()) {
                return allocator.get().relaxedStoresRefusal().map(reason -> reason + " (backend " + backend.id() + ")");
            }
        }
        return Optional.of("its symmetric memory is cached, because no backend maps it");
    }
}
