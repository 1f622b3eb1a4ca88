package org.ep4j.plan;

import java.util.Locale;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;

/** Who posts to NICs where GPUs and host threads both can. */
public enum Posting {
    /** Whoever is faster. */
    AUTO,
    /** GPUs, on {@link PathKind#DEVICE_POSTED} paths. */
    DEVICE,
    /** Host threads, on {@link PathKind#HOST_POSTED} paths. */
    HOST;

    /** Whether paths of this kind are taken after all others. */
    boolean comesLast(PathKind kind) {
        return switch (this) {
            case AUTO -> false;
            case DEVICE -> kind == PathKind.HOST_POSTED;
            case HOST -> kind == PathKind.DEVICE_POSTED;
        };
    }

    /** Reads {@link EpKeys#POSTING}. */
    public static Posting from(EpConfig config) {
        return valueOf(config.get(EpKeys.POSTING).toUpperCase(Locale.ROOT));
    }
}
