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

/**
 * The backends of a group. They stay open for as long as the group is, or memory that they mapped can still be looked at
 * through a view that a program holds.
 */
final class OpenBackends {
    private final Map<String, EpBackend> backends;
    private int users = 1;

    OpenBackends(Map<String, EpBackend> backends) {
        this.backends = new TreeMap<>(backends);
    }

    Map<String, EpBackend> byId() {
        return backends;
    }

    /** The backend that has to allocate memory for a purpose, if there is one. */
    Optional<EpBackend> allocator(Purpose purpose) {
        return backends.values().stream()
                .filter(backend -> allocates(backend, purpose))
                .findFirst();
    }

    private static boolean allocates(EpBackend backend, Purpose purpose) {
        return purposes(backend).contains(purpose);
    }

    /** Those that register memory, and allocate none. */
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
     * Refuses backends of a rank that cannot make its memory.
     *
     * @throws EpUnavailableException naming the backends, what is wrong with them, and the remedy
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
            if (registers && allocates(backend, Purpose.MAPPED)) {
                throw defect(
                        backend,
                        "it allocates the symmetric memory (AllocatesMemory with purpose MAPPED) and also registers"
                                + " memory (RegistersMemory), but only one of the two can make a buffer; its"
                                + " EpBackend.as must return one of them");
            }
        }
        List<String> allocators = open.stream()
                .filter(backend -> allocates(backend, Purpose.MAPPED))
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

    /** What those that count it have sent. */
    List<EpTraffic> traffic() {
        return backends.values().stream()
                .flatMap(backend -> backend.traffic().stream())
                .toList();
    }

    synchronized void retain() {
        users++;
    }

    /** One user less; the last one closes them. */
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
