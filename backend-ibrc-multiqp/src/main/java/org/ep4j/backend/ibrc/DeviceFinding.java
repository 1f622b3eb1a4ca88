package org.ep4j.backend.ibrc;

import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.plan.offer.FlowLimits;

/**
 * What opening a device found.
 *
 * @param name its name
 * @param problem why it cannot be used; empty when it can
 * @param atomics whether it adds to words
 * @param dmabuf whether it registers dma-bufs, as memory of GPUs is handed over
 */
record DeviceFinding(String name, Optional<String> problem, boolean atomics, boolean dmabuf) {
    static DeviceFinding of(String name) {
        try (NicDevice device = NicDevice.open(name, FlowLimits.NONE)) {
            // iWARP connects by its own connection manager alone, and has neither immediates nor atomics.
            Optional<String> problem = device.iwarp() ? Optional.of("speaks iWARP") : Optional.empty();
            return new DeviceFinding(name, problem, device.atomics(), device.dmabuf());
        } catch (EpException e) {
            return new DeviceFinding(name, Optional.of(String.valueOf(e.getMessage())), false, false);
        }
    }
}
