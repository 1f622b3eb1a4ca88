package org.ep4j.backend.efa;

import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.transport.memory.LockedMemory;
import org.ep4j.transport.memory.NativeRecord;

/** Error numbers of libfabric: those of Linux, and its own from 256 on ({@code rdma/fi_errno.h}). */
final class FabricError {
    static final int EPERM = 1;
    static final int EAGAIN = 11;
    static final int ENOMEM = 12;
    static final int EACCES = 13;
    static final int ENOSPC = 28;
    static final int ENOSYS = 38;
    static final int ENODATA = 61;

    private FabricError() {}

    /**
     * Refuses a negated error number.
     *
     * @param result what a function of {@link Libfabric} gave
     * @param call what was tried, with its values
     * @return the result
     */
    static long check(long result, String call) {
        if (result >= 0) {
            return result;
        }
        int error = (int) -result;
        String message = call + " failed: " + text(error) + remedy(error);
        throw error == ENOMEM || error == ENOSPC || error == EAGAIN
                ? new EpResourceException(message)
                : new EpException(message);
    }

    /** {@code error 22 (Invalid argument)}. */
    static String text(int error) {
        return "error " + error + " (" + name(error) + ")";
    }

    /** {@code Invalid argument}. */
    static String name(int error) {
        return NativeRecord.read(128, (out, capacity) -> Libfabric.error(error, out, capacity));
    }

    private static String remedy(int error) {
        return switch (error) {
            case ENOMEM, EAGAIN, ENOSPC ->
                "; " + LockedMemory.describe()
                        + ": raise the limit (ulimit -l unlimited; docker run --ulimit memlock=-1)";
            case EPERM, EACCES ->
                "; the process is not allowed to use the device: give the user or group of the process read and"
                        + " write access to the device file in /dev"
                        + " (containers: docker run --device=/dev/infiniband)";
            default -> "; set FI_LOG_LEVEL=warn for libfabric's log";
        };
    }
}
