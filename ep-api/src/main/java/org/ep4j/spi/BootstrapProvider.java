package org.ep4j.spi;

import java.util.Map;
import org.ep4j.config.EpConfig;

/** A way to start from what a launcher put into the environment, found by {@link java.util.ServiceLoader}. */
public interface BootstrapProvider {
    /** Name, for example {@code tcp}. */
    String id();

    /** True when {@code environment} was written by a launcher that this provider understands. */
    boolean detects(Map<String, String> environment);

    /**
     * Joins. Collective over the members.
     *
     * @throws org.ep4j.EpException with reason and remedy
     */
    Bootstrap join(Map<String, String> environment, EpConfig config);
}
