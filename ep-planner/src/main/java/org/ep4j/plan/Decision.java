package org.ep4j.plan;

import java.util.List;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;

/** The decision for a kind of pairs. With {@code lanes} 0 the planner computes their number. */
record Decision(String backend, Offer offer, List<Rejection> rejected, int lanes) {
    /** A rank's own memory: no estimate matters, and none is compared. */
    static final Decision LOCAL = new Decision(
            Planner.LOCAL,
            Offer.path(EpPath.Kind.LOCAL)
                    .gigabytesPerSecond(1000)
                    .latencyMicros(0.1)
                    .build(),
            List.of());

    Decision(String backend, Offer offer, List<Rejection> rejected) {
        this(backend, offer, rejected, 0);
    }

    Decision {
        rejected = List.copyOf(rejected);
    }

    boolean posted() {
        return offer.kind() == EpPath.Kind.HOST_POSTED || offer.kind() == EpPath.Kind.DEVICE_POSTED;
    }

    /** The same without names of NICs, which differ between like GPUs. */
    Decision withoutNics() {
        return new Decision(backend, offer.toBuilder().nics(List.of()).build(), rejected, lanes);
    }

    /**
     * Reason why a backend was not taken for a kind of pairs; without {@code text} where the cause says it.
     * {@link #describe} names the rank that could not use it, for one pair.
     */
    record Rejection(String backend, Cause cause, String text) {
        enum Cause {
            TEXT,
            ABSENT_FROM,
            ABSENT_TO,
            UNUSABLE_FROM,
            UNUSABLE_TO
        }

        /** For people, as {@code id: reason}. */
        String describe(RankProfile from, RankProfile to) {
            return backend + ": "
                    + switch (cause) {
                        case TEXT -> text;
                        case ABSENT_FROM -> "not on the class path of " + from.label();
                        case ABSENT_TO -> "not on the class path of " + to.label();
                        case UNUSABLE_FROM -> unusable(from);
                        case UNUSABLE_TO -> unusable(to);
                    };
        }

        private String unusable(RankProfile profile) {
            String why = profile.backend(backend)
                    .map(RankProfile.BackendProfile::why)
                    .orElse("");
            return "not usable on " + profile.label() + ": " + why;
        }
    }
}
