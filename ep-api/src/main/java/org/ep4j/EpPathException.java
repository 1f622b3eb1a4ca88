package org.ep4j;

import java.util.Optional;
import org.ep4j.plan.PathKind;
import org.jspecify.annotations.Nullable;

/**
 * Failure on the path to a rank. Public, since a handler of both kinds ({@code catch (EpPeerLostException | EpTimeoutException e)}) calls
 * methods of this class.
 */
public abstract sealed class EpPathException extends EpException permits EpPeerLostException, EpTimeoutException {
    private static final long serialVersionUID = 1L;

    private final @Nullable PathKind path;
    private final @Nullable String nic;
    private final @Nullable NativeStatus status;

    EpPathException(String message, FailedPath failed) {
        super(message);
        this.path = failed.kind().orElse(null);
        this.nic = failed.nic().orElse(null);
        this.status = failed.status().orElse(null);
    }

    /** How this rank reaches the peer, where it is known. */
    public Optional<PathKind> path() {
        return Optional.ofNullable(path);
    }

    /** Port of this rank that failed, as {@code name:port}, where it is one and is known. */
    public Optional<String> nic() {
        return Optional.ofNullable(nic);
    }

    /** What the native library reported, where it did. */
    public Optional<NativeStatus> status() {
        return Optional.ofNullable(status);
    }

    /** Path, NIC and status together. */
    public FailedPath failedPath() {
        return new FailedPath(path(), nic(), status());
    }
}
