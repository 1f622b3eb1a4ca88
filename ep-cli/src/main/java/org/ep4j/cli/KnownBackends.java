package org.ep4j.cli;

import java.util.List;
import java.util.ServiceLoader;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.EpBackendProvider;

/** The backends of the class path. */
final class KnownBackends {
    private KnownBackends() {}

    /**
     * Refuses a name that no backend of the class path has.
     *
     * @throws EpUnavailableException with the names that there are
     */
    static void require(String backend) {
        List<String> known = ServiceLoader.load(EpBackendProvider.class).stream()
                .map(provider -> provider.get().id())
                .sorted()
                .toList();
        if (!known.contains(backend)) {
            throw new EpUnavailableException("backend " + backend + " is not on the class path, which has: "
                    + String.join(", ", known) + "; correct --backend, or add its artifact");
        }
    }
}
