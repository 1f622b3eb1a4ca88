package org.ep4j.engine;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.EpTraffic;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.RegistersMemory;

/** The open backends of a group, until the group is closed and no buffer's memory that they mapped is in use any more. */
final class OpenBackends {
    private final Map<String, EpBackend> backends;
    private int users = 1;

    OpenBackends(Map<String, EpBackend> backends) {
        this.backends = new TreeMap<>(backends);
    }

    Map<String, EpBackend> byId() {
        return backends;
    }

    /** The backend that allocates memory for a purpose, if there is one. */
    Optional<EpBackend> allocator(Purpose purpose) {
        return backends.values().stream()
                .filter(backend -> purposes(backend).contains(purpose))
                .findFirst();
    }

    /** Backends that register memory, and allocate none. */
    List<EpBackend> registering() {
        return backends.values().stream()
                .filter(backend -> backend.as(RegistersMemory.class).isPresent())
                .filter(backend -> purposes(backend).isEmpty())
                .toList();
    }

    private static Set<Purpose> purposes(EpBackend backend) {
        return backend.as(AllocatesMemory.class).map(AllocatesMemory::purposes).orElse(Set.of());
    }

    /**
     * Refuses backends of a rank that cannot provide its memory.
     *
     * @throws EpUnavailableException naming the backends, the problem and the remedy
     */
    static void check(Collection<EpBackend> open) {
        for (EpBackend backend : open) {
            boolean registers = backend.as(RegistersMemory.class).isPresent();
            if (!registers && purposes(backend).isEmpty()) {
                throw defect(
                        backend,
                        "it neither allocates memory (AllocatesMemory) nor registers memory (RegistersMemory), so it can"
                                + " make no buffer");
            }
            if (registers && purposes(backend).contains(Purpose.MAPPED)) {
                throw defect(
                        backend,
                        "it allocates the symmetric memory (AllocatesMemory with purpose MAPPED) and also registers"
                                + " memory (RegistersMemory), but only one of the two can make a buffer; its"
                                + " EpBackend.as must return one of them");
            }
        }
        List<String> allocators = open.stream()
                .filter(backend -> purposes(backend).contains(Purpose.MAPPED))
                .map(EpBackend::id)
                .sorted()
                .toList();
        if (allocators.size() > 1) {
            throw new EpUnavailableException("backends " + String.join(" and ", allocators)
                    + " both want to allocate the symmetric memory; leave one out with "
                    + EpKeys.BACKEND_EXCLUDE.name());
        }
    }

    private static EpUnavailableException defect(EpBackend backend, String what) {
        return new EpUnavailableException("backend " + backend.id() + " has a defect: " + what + "; leave it out with "
                + EpKeys.BACKEND_EXCLUDE.name() + "=" + backend.id());
    }

    List<EpTraffic> traffic() {
        return backends.values().stream()
                .flatMap(backend -> backend.traffic().stream())
                .toList();
    }

    synchronized void retain() {
        users++;
    }

    /** Removes one user; the last one closes the backends. */
    void release() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        backends.values().forEach(EpBackend::close);
    }
}
