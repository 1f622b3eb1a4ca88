package org.ep4j.backend.nvshmem;

import java.nio.file.Path;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeMethods;

/** The host library of NVSHMEM. Addresses and streams are numbers. Not safe for several threads. */
final class NvshmemLibrary {
    /** {@code NVSHMEMX_INIT_WITH_UNIQUEID}. */
    static final int INIT_WITH_ID = 8;

    /** {@code NVSHMEM_STATUS_IS_INITIALIZED}; above it, initialised with several PEs on a GPU. */
    static final int INITIALISED = 2;

    /** {@code NVSHMEM_SIGNAL_SET}. */
    static final int SIGNAL_SET = 9;

    /**
     * Loads it.
     *
     * @throws EpUnavailableException when it cannot be loaded, or lacks a function
     */
    NvshmemLibrary(Path file) {
        try {
            NativeMethods.bind(NvshmemLibrary.class, file.toString());
        } catch (LinkageError e) {
            throw new EpUnavailableException(
                    NvshmemProbe.LIBRARY + ": " + file + " cannot be loaded: " + e.getMessage() + "; see ldd " + file
                            + ", or set " + NvshmemKeys.HOME.name() + " to another NVSHMEM",
                    e);
        }
    }

    native int nvshmemx_get_uniqueid(long id);

    native int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, long id, long attributes);

    native int nvshmemx_hostlib_init_attr(int flags, long attributes);

    native int nvshmemx_init_status();

    native void nvshmemx_vendor_get_version_info(int[] major, int[] minor, int[] patch);

    native long nvshmem_malloc(long bytes);

    native long nvshmem_ptr(long address, int pe);

    native int nvshmemx_cumodule_init(long module);

    native int nvshmemx_cumodule_finalize(long module);

    native void nvshmemx_putmem_on_stream(long to, long from, long bytes, int pe, long stream);

    native void nvshmemx_signal_op_on_stream(long word, long value, int operation, int pe, long stream);

    native void nvshmemx_quiet_on_stream(long stream);

    /** The version of the library itself. */
    NvshmemVersion version() {
        int[] major = new int[1];
        int[] minor = new int[1];
        int[] patch = new int[1];
        nvshmemx_vendor_get_version_info(major, minor, patch);
        return new NvshmemVersion(major[0], minor[0], patch[0]);
    }
}
