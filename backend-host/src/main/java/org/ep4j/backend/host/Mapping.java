package org.ep4j.backend.host;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;

/** A mapped range of shared memory. Every rank has mappings of its own, so none can be taken away by another rank. */
final class Mapping {
    private static final Logger LOG = System.getLogger(Mapping.class.getName());

    private final Libc libc;
    private final long address;
    private final long bytes;
    private final AtomicBoolean mapped = new AtomicBoolean(true);

    Mapping(Libc libc, long address, long bytes) {
        this.libc = libc;
        this.address = address;
        this.bytes = bytes;
    }

    long address() {
        return address;
    }

    long bytes() {
        return bytes;
    }

    /** Unmaps the range; only the first call does. */
    void unmap() {
        if (mapped.compareAndSet(true, false)) {
            try {
                libc.unmap(address, bytes);
            } catch (Libc.CallException e) {
                LOG.log(Level.WARNING, bytes + " bytes of shared memory stay mapped until the process ends", e);
            }
        }
    }
}
