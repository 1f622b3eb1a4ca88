package org.ep4j.examples.llm;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.TensorArena;

/**
 * NVIDIA's matrix products, for many tokens at once: BF16 in, FP32 out. Results of a row do not depend on the other rows of a
 * product, as long as the number of rows is the same: then the library takes the same kernel. Types and constants are as in
 * {@code cublas_api.h}. One thread, from {@link #open} to {@link #close}.
 */
final class Cublas implements AutoCloseable {
    private static final int NO_TRANSPOSE = 0;
    private static final int TRANSPOSE = 1;
    private static final int FP32 = 0;
    private static final int BF16 = 14;
    private static final int COMPUTE_FP32 = 68;
    private static final int DEFAULT = -1;

    /** Without it, kernels that split a sum over blocks could take memory that differs from call to call. */
    private static final long WORKSPACE = 32L << 20;

    private final NativeLibrary driver = NativeLibrary.getInstance("libcuda.so.1");
    private final NativeLibrary library;
    private final int gpu;
    private final Function gemm;
    private final Pointer handle;
    private final Memory one = new Memory(Float.BYTES);
    private final Memory zero = new Memory(Float.BYTES);

    private Cublas(int ordinal, NativeLibrary library, TensorArena arena, long stream) {
        this.library = library;
        this.gemm = library.getFunction("cublasGemmEx");
        one.setFloat(0, 1);
        zero.setFloat(0, 0);
        // The library works in the current context. ep4j works in the primary one, and leaves none current.
        IntByReference device = new IntByReference();
        call(driver.getFunction("cuDeviceGet"), device, ordinal);
        this.gpu = device.getValue();
        PointerByReference made = new PointerByReference();
        call(driver.getFunction("cuDevicePrimaryCtxRetain"), made, gpu);
        call(driver.getFunction("cuCtxPushCurrent_v2"), made.getValue());
        call(library.getFunction("cublasCreate_v2"), made);
        this.handle = made.getValue();
        call(library.getFunction("cublasSetStream_v2"), handle, new Pointer(stream));
        Pointer workspace = new Pointer(arena.memory(WORKSPACE).address());
        call(library.getFunction("cublasSetWorkspace_v2"), handle, workspace, WORKSPACE);
    }

    /** Opens the library where the CUDA toolkit or a Python package has it; empty where there is none. */
    static Optional<Cublas> open(Device device, TensorArena arena, long stream) {
        for (Path folder : folders(System.getenv())) {
            for (Path file : list(folder, "libcublas.so.*")) {
                try {
                    return Optional.of(
                            new Cublas(device.ordinal(), NativeLibrary.getInstance(file.toString()), arena, stream));
                } catch (UnsatisfiedLinkError e) {
                    System.getLogger("org.ep4j.examples.llm")
                            .log(System.Logger.Level.INFO, "{0} does not load: {1}", file, e.getMessage());
                }
            }
        }
        return Optional.empty();
    }

    private static List<Path> folders(Map<String, String> environment) {
        List<Path> folders = new ArrayList<>();
        for (String part : environment.getOrDefault("LD_LIBRARY_PATH", "").split(File.pathSeparator, -1)) {
            if (!part.isBlank()) {
                folders.add(Path.of(part));
            }
        }
        list(Path.of("/usr/local"), "cuda*").forEach(toolkit -> folders.add(toolkit.resolve("lib64")));
        folders.add(Path.of("/usr/lib/x86_64-linux-gnu"));
        folders.add(Path.of("/usr/lib64"));
        for (String prefix : List.of(environment.getOrDefault("VIRTUAL_ENV", "/usr"), "/usr/local", "/usr")) {
            for (Path python : list(Path.of(prefix, "lib"), "python3*")) {
                for (String packages : List.of("site-packages", "dist-packages")) {
                    list(python.resolve(packages).resolve("nvidia"), "cu*")
                            .forEach(one -> folders.add(one.resolve("lib")));
                }
            }
        }
        return folders;
    }

    private static List<Path> list(Path folder, String glob) {
        List<Path> found = new ArrayList<>();
        if (Files.isDirectory(folder)) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, glob)) {
                entries.forEach(found::add);
            } catch (IOException e) {
                System.getLogger("org.ep4j.examples.llm").log(System.Logger.Level.DEBUG, "cannot list " + folder, e);
            }
        }
        found.sort(null);
        return found;
    }

    /**
     * Queues {@code out[t][r] = sum over i of weights[r][i] * x[t][i]}, or adds it to what is there.
     *
     * @param weights address of {@code [rows][columns]} BF16
     * @param x address of {@code [tokens][columns]} BF16
     * @param out address of {@code [tokens][rows]} FP32
     */
    void multiply(long weights, long x, long out, int tokens, int rows, int columns, boolean add) {
        // The library counts columns first: a row here is a column there.
        call(
                gemm,
                handle,
                TRANSPOSE,
                NO_TRANSPOSE,
                rows,
                tokens,
                columns,
                one,
                new Pointer(weights),
                BF16,
                columns,
                new Pointer(x),
                BF16,
                columns,
                add ? one : zero,
                new Pointer(out),
                FP32,
                rows,
                COMPUTE_FP32,
                DEFAULT);
    }

    private static void call(Function function, Object... arguments) {
        int status = function.invokeInt(arguments);
        if (status != 0) {
            throw new IllegalStateException(function.getName() + " failed with status " + status
                    + " (cublasStatus_t or CUresult); the GPU has too little memory, or the library does not fit the"
                    + " driver");
        }
    }

    @Override
    public void close() {
        call(library.getFunction("cublasDestroy_v2"), handle);
        call(driver.getFunction("cuCtxPopCurrent_v2"), new PointerByReference());
        call(driver.getFunction("cuDevicePrimaryCtxRelease_v2"), gpu);
        one.close();
        zero.close();
    }
}
