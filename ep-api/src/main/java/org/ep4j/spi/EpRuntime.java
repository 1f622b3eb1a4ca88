package org.ep4j.spi;

import org.ep4j.EpGroup;
import org.ep4j.config.EpConfig;

/** The engine behind {@link EpGroup#join}, found by {@link java.util.ServiceLoader}; ep-engine has the one there is. */
public interface EpRuntime {
    /** Joins; see {@link EpGroup#join(Bootstrap, EpConfig)}. */
    EpGroup join(Bootstrap bootstrap, EpConfig config);
}
