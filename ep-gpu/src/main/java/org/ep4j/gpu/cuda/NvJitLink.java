package org.ep4j.gpu.cuda;

import com.sun.jna.StringArray;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeMethods;

/** NVIDIA's linker of device code, of the same toolkit as the compiler. Results are {@code nvJitLinkResult}. */
final class NvJitLink {
    /** Environment variable that names the library or its folder. */
    static final String VARIABLE = "EP_NVJITLINK";

    private static final int INPUT_CUBIN = 1;
    private static final int INPUT_LIBRARY = 6;

    private final Path file;

    private NvJitLink(Path file) {
        this.file = file;
        NativeMethods.bind(NvJitLink.class, file.toString());
    }

    native int nvJitLinkCreate(long[] handle, int count, StringArray options);

    native int nvJitLinkDestroy(long[] handle);

    native int nvJitLinkAddData(long handle, int type, byte[] data, long bytes, String name);

    native int nvJitLinkAddFile(long handle, int type, String file);

    native int nvJitLinkComplete(long handle);

    native int nvJitLinkGetLinkedCubinSize(long handle, long[] bytes);

    native int nvJitLinkGetLinkedCubin(long handle, byte[] cubin);

    native int nvJitLinkGetErrorLogSize(long handle, long[] bytes);

    native int nvJitLinkGetErrorLog(long handle, byte[] log);

    /** Finds the linker beside the compiler, else of its toolkit; throws EpUnavailableException if there is none. */
    static NvJitLink find(Map<String, String> environment, NvrtcInstallation compiler) {
        Pattern name = Pattern.compile("libnvJitLink\\.so\\." + compiler.major() + "(\\..*)?");
        Set<Path> folders = folders(environment, compiler);
        for (Path folder : folders) {
            Optional<Path> found = in(folder, name);
            if (found.isPresent()) {
                return new NvJitLink(found.get());
            }
        }
        throw new EpUnavailableException(
                "kernels that call a device library are linked on this machine, and there is no"
                        + " libnvJitLink.so." + compiler.major() + " in " + folders
                        + "; install the CUDA toolkit or the Python"
                        + " package nvidia-nvjitlink, or set " + VARIABLE + " to the library or its folder");
    }

    private static Set<Path> folders(Map<String, String> environment, NvrtcInstallation compiler) {
        Set<Path> folders = new LinkedHashSet<>();
        String named = environment.getOrDefault(VARIABLE, "");
        if (!named.isBlank()) {
            folders.add(NvrtcInstallation.folder(Path.of(named)));
            return folders;
        }
        Path beside = Optional.ofNullable(compiler.compiler().getParent()).orElse(Path.of("/"));
        folders.add(beside);
        // Before CUDA 13 every Python package has a folder of its own: nvidia/cuda_nvrtc/lib, nvidia/nvjitlink/lib.
        folders.add(beside.resolve("../../nvjitlink/lib").normalize());
        for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
            String text = environment.getOrDefault(variable, "");
            if (!text.isBlank()) {
                folders.add(Path.of(text, "lib64"));
            }
        }
        folders.add(Path.of("/usr/local/cuda-" + compiler.major() + "." + compiler.minor(), "lib64"));
        folders.add(Path.of("/usr/local/cuda/lib64"));
        folders.add(Path.of("/usr/lib/x86_64-linux-gnu"));
        return folders;
    }

    private static Optional<Path> in(Path folder, Pattern name) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(
                            file -> name.matcher(file.getFileName().toString()).matches())
                    .min(Comparator.naturalOrder());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Links machine code with libraries for an architecture such as {@code sm_90}; throws with the linker's own messages. */
    byte[] link(String name, byte[] object, List<Path> libraries, String architecture) {
        long[] handle = new long[1];
        check(handle, nvJitLinkCreate(handle, 1, new StringArray(new String[] {"-arch=" + architecture})), name);
        try {
            check(handle, nvJitLinkAddData(handle[0], INPUT_CUBIN, object, object.length, name), name);
            for (Path library : libraries) {
                check(
                        handle,
                        nvJitLinkAddFile(handle[0], INPUT_LIBRARY, library.toString()),
                        name + " with " + library);
            }
            check(handle, nvJitLinkComplete(handle[0]), name + " with " + libraries);
            long[] bytes = new long[1];
            check(handle, nvJitLinkGetLinkedCubinSize(handle[0], bytes), name);
            byte[] cubin = new byte[Math.toIntExact(bytes[0])];
            check(handle, nvJitLinkGetLinkedCubin(handle[0], cubin), name);
            return cubin;
        } finally {
            nvJitLinkDestroy(handle);
        }
    }

    private void check(long[] handle, int result, String what) {
        if (result != 0) {
            throw new EpException("nvJitLink in " + file + " cannot link " + what + ": nvJitLinkResult " + result + "\n"
                    + log(handle[0]));
        }
    }

    private String log(long handle) {
        long[] bytes = new long[1];
        if (handle == 0 || nvJitLinkGetErrorLogSize(handle, bytes) != 0 || bytes[0] == 0) {
            return "";
        }
        byte[] log = new byte[Math.toIntExact(bytes[0]) + 1];
        nvJitLinkGetErrorLog(handle, log);
        return new String(log, StandardCharsets.UTF_8).split("\0", -1)[0];
    }
}
