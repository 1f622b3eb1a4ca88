package org.ep4j.engine.pmix;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Reference;
import java.util.HexFormat;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;

/** This process as a member of a PMIx job. Calls have no deadline of their own: {@link PmixSession} adds one. One thread. */
final class PmixJob {
    private static final int SUCCESS = 0;

    private final PmixLibrary library;
    private final Memory own = PmixStructures.proc();
    private final int size;

    PmixJob(PmixLibrary library) {
        this.library = library;
        int status = library.PMIx_Init(own, Pointer.NULL, 0);
        if (status != SUCCESS) {
            throw new EpUnavailableException("PMIx_Init gives " + named(status)
                    + ": the launcher cannot be reached, or the library (" + library
                    + ") does not fit the launcher's PMIx or the library's own plugins. Start the process directly with"
                    + " mpirun or srun --mpi=pmix, not from a shell that one of these started long ago; put the folder of the"
                    + " launcher's PMIx library first in LD_LIBRARY_PATH, and unset PMIX_PREFIX or set it to the installation"
                    + " of that library; or start the ranks with torchrun's variables");
        }
        size = get(PmixStructures.ANY_RANK, PmixStructures.JOB_SIZE, PmixStructures.UINT32)
                .getInt(PmixStructures.VALUE_DATA);
    }

    int rank() {
        return PmixStructures.rank(own);
    }

    int size() {
        return size;
    }

    /** Publishes bytes for the others, from their next {@link #fence} on. */
    void put(String key, byte[] bytes) {
        // As text: byte strings are kept differently from version to version.
        Memory text = PmixStructures.text(HexFormat.of().formatHex(bytes).getBytes(UTF_8));
        Memory value = PmixStructures.value(text);
        try {
            check("PMIx_Put", library.PMIx_Put(PmixStructures.GLOBAL, key, value));
        } finally {
            Reference.reachabilityFence(text);
        }
        check("PMIx_Commit", library.PMIx_Commit());
    }

    /** Returns when all members have called it. */
    void fence() {
        Memory collect = PmixStructures.collectData();
        check("PMIx_Fence", library.PMIx_Fence(Pointer.NULL, 0, collect, 1));
    }

    byte[] get(int rank, String key) {
        Pointer text = get(rank, key, PmixStructures.STRING).getPointer(PmixStructures.VALUE_DATA);
        return HexFormat.of().parseHex(text.getString(0, UTF_8.name()));
    }

    /** Gets a value, which stays allocated: it is freed by a macro in one version and a function in the next, and is small. */
    private Pointer get(int rank, String key, short type) {
        PointerByReference found = new PointerByReference();
        Memory whose = PmixStructures.proc(own, rank);
        check("PMIx_Get of " + key, library.PMIx_Get(whose, key, Pointer.NULL, 0, found));
        Pointer value = found.getValue();
        if (value.getShort(0) != type) {
            throw new EpException("PMIx_Get of " + key + " gives a value of type " + value.getShort(0)
                    + ", but the type must be " + type + "; use a PMIx library of the launcher's own version");
        }
        return value;
    }

    /** Ends the membership, as launchers require before the process ends. */
    void leave() {
        check("PMIx_Finalize", library.PMIx_Finalize(Pointer.NULL, 0));
    }

    private void check(String call, int status) {
        if (status != SUCCESS) {
            throw new EpException(call + " gives " + named(status)
                    + "; check the launcher's output, or start the ranks with torchrun's variables");
        }
    }

    private String named(int status) {
        return library.PMIx_Error_string(status) + " (" + status + ")";
    }
}
