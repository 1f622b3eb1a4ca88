package org.ep4j.gpu.hip;

import com.sun.jna.Pointer;
import com.sun.jna.StringArray;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeMethods;

/** AMD's run-time compiler, loaded from one place. Results are {@code hiprtcResult}. */
final class HipRtc {
    private final Path library;
    private final String version;

    /** @param version of the library, for messages */
    HipRtc(Path library, String version) {
        this.library = library;
        this.version = version;
        try {
            NativeMethods.bind(HipRtc.class, library.toString());
        } catch (LinkageError e) {
            throw new EpUnavailableException(
                    "HIPRTC in " + library + " cannot be loaded (" + NativeMethods.reason(e)
                            + "); install the package hiprtc of the same ROCm",
                    e);
        }
    }

    native int hiprtcCreateProgram(long[] program, String source, String name, int headers, long sources, long names);

    native int hiprtcDestroyProgram(long[] program);

    native int hiprtcCompileProgram(long program, int count, Pointer options);

    native int hiprtcGetProgramLogSize(long program, long[] bytes);

    native int hiprtcGetProgramLog(long program, byte[] log);

    native int hiprtcGetCodeSize(long program, long[] bytes);

    native int hiprtcGetCode(long program, byte[] code);

    native String hiprtcGetErrorString(int result);

    /**
     * Compiles HIP C++ to a code object.
     *
     * @param target {@code gfx942}: one that this compiler supports; any other ends the process
     * @param options as for clang, without the architecture
     * @throws EpException with the compiler's own messages
     */
    byte[] compile(String name, String source, String target, List<String> options) {
        String[] all = new String[options.size() + 1];
        options.toArray(all);
        all[options.size()] = "--offload-arch=" + target;
        long[] program = new long[1];
        check(hiprtcCreateProgram(program, source, name, 0, 0, 0), "hiprtcCreateProgram");
        try {
            int result = hiprtcCompileProgram(program[0], all.length, new StringArray(all));
            if (result != 0) {
                throw new EpException("HIPRTC " + version + " cannot compile " + name + " with " + String.join(" ", all)
                        + ": " + hiprtcGetErrorString(result) + "\n" + log(program[0]));
            }
            long[] bytes = new long[1];
            check(hiprtcGetCodeSize(program[0], bytes), "hiprtcGetCodeSize");
            byte[] code = new byte[Math.toIntExact(bytes[0])];
            check(hiprtcGetCode(program[0], code), "hiprtcGetCode");
            return code;
        } finally {
            hiprtcDestroyProgram(program);
        }
    }

    private String log(long program) {
        long[] bytes = new long[1];
        if (hiprtcGetProgramLogSize(program, bytes) != 0 || bytes[0] <= 1) {
            return "";
        }
        byte[] log = new byte[Math.toIntExact(bytes[0])];
        return hiprtcGetProgramLog(program, log) == 0 ? new String(log, 0, log.length - 1, StandardCharsets.UTF_8) : "";
    }

    private void check(int result, String what) {
        if (result != 0) {
            throw new EpException("HIPRTC in " + library + ": " + what + " failed: " + hiprtcGetErrorString(result)
                    + " (" + result + ")");
        }
    }
}
