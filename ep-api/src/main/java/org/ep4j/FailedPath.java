package org.ep4j;

import java.util.List;
import java.util.Optional;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;

/**
 * The path to a rank that was lost or did not answer, as far as it is known.
 *
 * @param kind how this rank reaches that one
 * @param nic port of this rank, as {@code name:port}; empty where no NIC is in the way, or where it is not one port that failed
 * @param status what the native library reported
 */
public record FailedPath(Optional<PathKind> kind, Optional<String> nic, Optional<NativeStatus> status) {
    /** Nothing is known. */
    public static final FailedPath UNKNOWN = new FailedPath(Optional.empty(), Optional.empty(), Optional.empty());

    /** A path of which only its kind is known. */
    public static FailedPath of(PathKind kind) {
        return new FailedPath(Optional.of(kind), Optional.empty(), Optional.empty());
    }

    /** A planned path; its NIC is known where it uses one only. */
    public static FailedPath of(PairPath path) {
        List<String> nics = path.nics();
        return new FailedPath(
                Optional.of(path.offer().kind()),
                nics.size() == 1 ? Optional.of(nics.get(0)) : Optional.empty(),
                Optional.empty());
    }

    /** The same path, at a port of this rank. */
    public FailedPath withNic(String name) {
        return new FailedPath(kind, Optional.of(name), status);
    }

    /** The same path, with what the native library reported. */
    public FailedPath withStatus(NativeStatus reported) {
        return new FailedPath(kind, nic, Optional.of(reported));
    }

    /** The same path, where {@code other} knows what this does not. */
    public FailedPath or(FailedPath other) {
        return new FailedPath(kind.or(other::kind), nic.or(other::nic), status.or(other::status));
    }
}
