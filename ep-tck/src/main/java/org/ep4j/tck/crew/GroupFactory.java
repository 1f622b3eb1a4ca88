package org.ep4j.tck.crew;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;

/** Joins groups for scenarios; tests of the kit give one that breaks them. Its no-argument constructor does nothing. */
@FunctionalInterface
public interface GroupFactory {
    /** Joins, as {@link EpGroup#join(Bootstrap, EpConfig)}. */
    EpGroup join(Bootstrap bootstrap, EpConfig config);

    /** The one that every backend is tested with. */
    final class Plain implements GroupFactory {
        @Override
        public EpGroup join(Bootstrap bootstrap, EpConfig config) {
            return EpGroup.join(bootstrap, config);
        }
    }
}
