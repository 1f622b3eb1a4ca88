package org.ep4j.engine.pmix;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeLibraries;
import org.ep4j.transport.memory.NativeMethods;

/**
 * The calls of the PMIx client library that ep4j makes, with the names and argument orders of {@code pmix.h}; {@code size_t}
 * is {@code long}. Its binary interface has been the same from version 3 to 5, which all are {@code libpmix.so.2}.
 */
@SuppressWarnings("checkstyle:MethodName")
final class PmixLibrary {
    static final int OLDEST = 3;
    static final int NEWEST = 5;

    private static final List<String> NAMES = List.of("libpmix.so.2", "libpmix.so");

    /** {@code PMIx_Get_version}: "OpenPMIx 4.2.2rc2 (PMIx Standard: ...)", or "OpenPMIx 3.2.3, repo rev: ...". */
    private static final Pattern VERSION = Pattern.compile("\\D*(\\d+)\\.\\d.*", Pattern.DOTALL);

    private final String name;

    private PmixLibrary(NativeLibrary library, String version) {
        NativeMethods.bind(PmixLibrary.class, library.getFile().toString());
        this.name = library.getFile() + ", " + firstLine(version);
    }

    /**
     * Loads the library. A second load costs nothing.
     *
     * @throws EpUnavailableException when this machine has none, or one of another version
     */
    static PmixLibrary load() {
        return load(NAMES);
    }

    static PmixLibrary load(List<String> names) {
        NativeLibrary library = NativeLibraries.load(names)
                .orElseThrow(
                        () -> new EpUnavailableException("this process was started through PMIx (mpirun, srun), but "
                                + String.join(" and ", names)
                                + " cannot be loaded; install it (Debian: apt-get install libpmix2),"
                                + " add its folder to LD_LIBRARY_PATH, or start the ranks with torchrun's variables"));
        try {
            String version = library.getFunction("PMIx_Get_version").invokeString(new Object[0], false);
            check(version);
            return new PmixLibrary(library, version);
        } catch (LinkageError e) {
            String reason = firstLine(String.valueOf(e.getMessage()));
            throw new EpUnavailableException(
                    library.getFile() + " is not a client library of PMIx " + OLDEST + " to " + NEWEST + " (" + reason
                            + "); put the folder of such a library first in LD_LIBRARY_PATH, or start the ranks with torchrun's"
                            + " variables",
                    e);
        }
    }

    /** Refuses versions whose structures are not known. */
    static void check(String version) {
        Matcher matcher = VERSION.matcher(version);
        int major = matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
        if (major < OLDEST || major > NEWEST) {
            throw new EpUnavailableException(
                    "the PMIx library is \"" + firstLine(version)
                            + "\", but must be of version " + OLDEST + " to " + NEWEST
                            + "; put the folder of such a library first in LD_LIBRARY_PATH, or start the ranks with torchrun's variables");
        }
    }

    /** Its file and its version, for errors: of several on a machine it may be the wrong one. */
    @Override
    public String toString() {
        return name;
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }

    /** {@code proc}: a {@code pmix_proc_t} to fill. */
    native int PMIx_Init(Pointer proc, Pointer info, long infos);

    native int PMIx_Finalize(Pointer info, long infos);

    /** {@code value}: a {@code pmix_value_t}; it is copied. */
    native int PMIx_Put(byte scope, String key, Pointer value);

    native int PMIx_Commit();

    /** {@code procs}: null for all of the job. */
    native int PMIx_Fence(Pointer procs, long count, Pointer info, long infos);

    /** {@code value}: where to put the address of a new {@code pmix_value_t}. */
    native int PMIx_Get(Pointer proc, String key, Pointer info, long infos, PointerByReference value);

    native String PMIx_Error_string(int status);
}
