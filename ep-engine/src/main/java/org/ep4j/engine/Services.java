package org.ep4j.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Function;
import org.ep4j.spi.SpiVersion;

/**
 * Providers of one service, each isolated from the failures of the others.
 *
 * @param usable those that loaded and that this SPI can run, by name
 * @param broken problems of the others, one line each
 * @param <T> the service
 */
record Services<T>(Map<String, T> usable, List<String> broken) {
    /** Loads providers by the class loader of the API first, then by that of the thread. */
    static <T> Services<T> load(Class<T> service, Function<T, String> name, Function<T, SpiVersion> version) {
        Map<String, T> usable = new LinkedHashMap<>();
        List<String> broken = new ArrayList<>();
        Deque<Iterator<T>> loaders = new ArrayDeque<>();
        loaders.add(ServiceLoader.load(service, service.getClassLoader()).iterator());
        loaders.add(ServiceLoader.load(service).iterator());
        while (!loaders.isEmpty()) {
            try {
                if (!loaders.element().hasNext()) {
                    loaders.remove();
                    continue;
                }
                T provider = loaders.element().next();
                String id = name.apply(provider);
                if (!SpiVersion.CURRENT.runs(version.apply(provider))) {
                    broken.add(id + " was built for SPI " + version.apply(provider) + ", but this ep4j has SPI "
                            + SpiVersion.CURRENT + "; use a version of " + id
                            + " that was built for this version of ep4j, or the version of ep4j that " + id
                            + " was built for");
                } else {
                    usable.putIfAbsent(id, provider);
                }
            } catch (ServiceConfigurationError | LinkageError e) {
                broken.add(String.valueOf(e.getMessage()));
            }
        }
        return new Services<>(usable, List.copyOf(broken));
    }
}
