package org.ep4j.gpu.cuda;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.StringArray;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeMethods;

/** NVIDIA's run-time compiler, loaded from one place. Results are {@code nvrtcResult}. */
final class Nvrtc {
    private final NvrtcInstallation installation;
    private final String version;

    @SuppressWarnings("unused") // keeps the library of the intrinsics in the process: nvrtc looks it up by its name
    private final NativeLibrary builtins;

    Nvrtc(NvrtcInstallation installation) {
        this.installation = installation;
        // Loaded by its path first, or a compiler outside the linker's folders does not find it.
        builtins = NativeLibrary.getInstance(installation.builtins().toString());
        NativeMethods.bind(Nvrtc.class, installation.compiler().toString());
        int[] major = new int[1];
        int[] minor = new int[1];
        check(nvrtcVersion(major, minor), "nvrtcVersion");
        version = major[0] + "." + minor[0];
    }

    native int nvrtcVersion(int[] major, int[] minor);

    native int nvrtcCreateProgram(
            long[] program, String source, String name, int headers, Pointer sources, Pointer names);

    native int nvrtcDestroyProgram(long[] program);

    native int nvrtcCompileProgram(long program, int count, Pointer options);

    native int nvrtcGetProgramLogSize(long program, long[] bytes);

    native int nvrtcGetProgramLog(long program, byte[] log);

    native int nvrtcGetCUBINSize(long program, long[] bytes);

    native int nvrtcGetCUBIN(long program, byte[] cubin);

    native int nvrtcGetPTXSize(long program, long[] bytes);

    native int nvrtcGetPTX(long program, byte[] ptx);

    native String nvrtcGetErrorString(int result);

    native int nvrtcGetNumSupportedArchs(int[] count);

    native int nvrtcGetSupportedArchs(int[] architectures);

    /** The newest virtual architecture of this compiler, whose code drivers translate: {@code compute_90}. */
    String newestVirtual() {
        return "compute_" + Arrays.stream(architectures()).max().orElse(80);
    }

    private int[] architectures() {
        int[] count = new int[1];
        check(nvrtcGetNumSupportedArchs(count), "nvrtcGetNumSupportedArchs");
        int[] known = new int[count[0]];
        check(nvrtcGetSupportedArchs(known), "nvrtcGetSupportedArchs");
        return known;
    }

    /** Version of the compiler, {@code 13.0}. */
    String version() {
        return version;
    }

    /** Returns whether this compiler can optimize the functions of one source in several threads ({@code --split-compile}): measured with 12.9 and 13.0. */
    boolean splits() {
        return installation.major() > 12 || (installation.major() == 12 && installation.minor() >= 9);
    }

    NvrtcInstallation installation() {
        return installation;
    }

    /**
     * Compiles CUDA C++.
     *
     * @param options as for nvcc; {@code -arch=sm_90} gives machine code (cubin), {@code -arch=compute_90} PTX
     * @param headers that the source may include, by name
     * @throws EpException with the compiler's own messages
     */
    byte[] compile(String name, String source, List<String> options, Map<String, String> headers) {
        requireKnown(options);
        long[] program = new long[1];
        check(create(program, source, name, new TreeMap<>(headers)), "nvrtcCreateProgram");
        try {
            int result =
                    nvrtcCompileProgram(program[0], options.size(), new StringArray(options.toArray(String[]::new)));
            if (result != 0) {
                throw new EpException("NVRTC " + version + " cannot compile " + name + " with "
                        + String.join(" ", options) + ": " + nvrtcGetErrorString(result) + "\n" + log(program[0]));
            }
            boolean virtual = options.stream().anyMatch(option -> option.contains("compute_"));
            long[] bytes = new long[1];
            check(
                    virtual ? nvrtcGetPTXSize(program[0], bytes) : nvrtcGetCUBINSize(program[0], bytes),
                    "size of the result");
            byte[] code = new byte[Math.toIntExact(bytes[0])];
            check(virtual ? nvrtcGetPTX(program[0], code) : nvrtcGetCUBIN(program[0], code), "result");
            return code;
        } finally {
            nvrtcDestroyProgram(program);
        }
    }

    private int create(long[] program, String source, String name, SortedMap<String, String> headers) {
        if (headers.isEmpty()) {
            return nvrtcCreateProgram(program, source, name, 0, Pointer.NULL, Pointer.NULL);
        }
        StringArray texts = new StringArray(headers.values().toArray(String[]::new));
        StringArray names = new StringArray(headers.keySet().toArray(String[]::new));
        return nvrtcCreateProgram(program, source, name, headers.size(), texts, names);
    }

    private void requireKnown(List<String> options) {
        for (String option : options) {
            String digits = option.startsWith("-arch=") ? option.replaceAll("[^0-9]", "") : "";
            if (!digits.isEmpty() && Arrays.stream(architectures()).noneMatch(a -> a == Integer.parseInt(digits))) {
                throw new EpUnavailableException("NVRTC " + version + " in " + installation.compiler()
                        + " does not know " + option.substring("-arch=".length()) + ", it knows "
                        + Arrays.toString(architectures()) + "; install a newer CUDA toolkit");
            }
        }
    }

    private String log(long program) {
        long[] bytes = new long[1];
        if (nvrtcGetProgramLogSize(program, bytes) != 0 || bytes[0] <= 1) {
            return "";
        }
        byte[] log = new byte[Math.toIntExact(bytes[0])];
        return nvrtcGetProgramLog(program, log) == 0 ? new String(log, 0, log.length - 1, StandardCharsets.UTF_8) : "";
    }

    private void check(int result, String what) {
        if (result != 0) {
            throw new EpException("NVRTC in " + installation.compiler() + ": " + what + " failed: "
                    + nvrtcGetErrorString(result) + " (" + result + ")");
        }
    }
}
