package org.ep4j.spi;

import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;

/**
 * A way to join the group that a launcher describes in environment variables; found by {@link java.util.ServiceLoader}.
 */
public interface BootstrapProvider {
    /** Name, for example {@code tcp}. */
    String id();

    /** Returns true if {@code environment} was written by a launcher that this provider understands. */
    boolean detects(Map<String, String> environment);

    /**
     * Joins the group that the launcher describes. Collective over the members.
     *
     * @throws org.ep4j.EpException with reason and remedy
     */
    Bootstrap join(Map<String, String> environment, EpConfig config);
}
