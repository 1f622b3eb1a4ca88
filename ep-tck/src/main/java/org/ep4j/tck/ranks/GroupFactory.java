package org.ep4j.tck.ranks;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;

/** Joins groups for scenarios, as a class with a no-argument constructor. Tests of the kit use factories whose groups are faulty. */
@FunctionalInterface
public interface GroupFactory {
    /** Joins a group, as {@link EpGroup#join(Bootstrap, EpConfig)}. */
    EpGroup join(Bootstrap bootstrap, EpConfig config);

    /** The factory that every backend is tested with. */
    final class Plain implements GroupFactory {
        @Override
        public EpGroup join(Bootstrap bootstrap, EpConfig config) {
            return EpGroup.join(bootstrap, config);
        }
    }
}
