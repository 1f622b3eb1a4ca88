package org.ep4j.gpu.cuda;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.gpu.hip.HipOptions;
import org.ep4j.spi.DeviceCode;
import org.ep4j.testing.Tier;

/**
 * NVIDIA's and AMD's compilers that the build unpacks; they need no GPU. What has been compiled once is kept with the kernels of the emulator,
 * by all that decides about it; the tier "all" compiles it anew.
 */
public final class TestCompilers {
    private static final KernelCache CACHE =
            Tier.all() ? new KernelCache(Optional.empty()) : KernelCache.of(System.getenv());

    private TestCompilers() {}

    /** Machine code of an NVIDIA GPU, by the same code as in production, with a real NVRTC. */
    public static byte[] cuda(String name, String source, String architecture) {
        return cuda().compile(name, source, architecture);
    }

    /** Machine code of an NVIDIA GPU with what a backend contributes, not linked yet. */
    public static byte[] cudaObject(String name, String source, DeviceCode code, String architecture) {
        return cuda().object(name, source, code, architecture);
    }

    private static CudaCompiler cuda() {
        Path folder = folder("nvrtc");
        NvrtcInstallation found =
                NvrtcInstallation.find(Map.of(NvrtcInstallation.VARIABLE, folder.toString()), Path.of("/"), 13_000);
        return new CudaCompiler(new Nvrtc(found), CACHE);
    }

    /** Machine code of an AMD GPU, by the compiler that HIPRTC is made of and with the options of production. */
    public static byte[] hip(Path work, String name, String source, String architecture) {
        return hip(work, name, source, architecture, List.of());
    }

    /** As above, as text. */
    public static String hipAssembly(Path work, String name, String source, String architecture) {
        return new String(hip(work, name, source, architecture, List.of("-S")), StandardCharsets.UTF_8);
    }

    private static byte[] hip(Path work, String name, String source, String architecture, List<String> more) {
        Path folder = folder("llvm");
        List<String> options = new ArrayList<>(List.of(
                "-x",
                "hip",
                "--offload-arch=" + architecture,
                "--offload-device-only",
                "--no-gpu-bundle-output",
                "-nogpuinc",
                "-nogpulib",
                "-Wall",
                "-Werror",
                "-Wno-unused-function"));
        options.addAll(HipOptions.all());
        options.addAll(more);
        List<String> parts = new ArrayList<>(options);
        for (String file : List.of("clang", "lld", "libLLVM.so", "libclang-cpp.so")) {
            parts.add(KernelCache.identity(folder.resolve(file)));
        }
        parts.add(source);
        return CACHE.get(parts, () -> compile(folder, options, work, name, source));
    }

    private static byte[] compile(Path folder, List<String> options, Path work, String name, String source) {
        try {
            Path clang = executable(folder.resolve("clang"));
            executable(folder.resolve("lld"));
            link(folder, "ld.lld", "lld");
            link(folder, "libLLVM.so.20.1", "libLLVM.so");
            link(folder, "libclang-cpp.so.20.1", "libclang-cpp.so");
            Path text = Files.writeString(work.resolve(name + ".hip"), source);
            Path code = work.resolve(name + ".code");
            List<String> command = new ArrayList<>(List.of(clang.toString()));
            command.addAll(options);
            command.addAll(List.of("-o", code.toString(), text.toString()));
            run(folder, command);
            return Files.readAllBytes(code);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Machine code by the toolkit's nvcc, where it is on the path. */
    public static Optional<byte[]> nvcc(Path work, String name, String source, String architecture)
            throws IOException, InterruptedException {
        boolean there = false;
        for (String folder : System.getenv().getOrDefault("PATH", "").split(":", -1)) {
            there |= Files.isExecutable(Path.of(folder, "nvcc"));
        }
        if (!there) {
            return Optional.empty();
        }
        Path text = Files.writeString(work.resolve(name + ".cu"), source);
        Path code = work.resolve(name + "." + architecture);
        run(
                work,
                List.of(
                        "nvcc",
                        "-diag-suppress",
                        "177",
                        "-std=c++17",
                        "-arch=" + architecture,
                        "-cubin",
                        "-o",
                        code.toString(),
                        text.toString()));
        return Optional.of(Files.readAllBytes(code));
    }

    private static void run(Path libraries, List<String> command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(command)).redirectErrorStream(true);
        builder.environment().put("LD_LIBRARY_PATH", libraries.toString());
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new AssertionError(String.join(" ", command) + "\n" + output);
        }
    }

    private static Path executable(Path file) {
        if (!file.toFile().setExecutable(true)) {
            throw new AssertionError(file + " cannot be made executable");
        }
        return file;
    }

    private static void link(Path folder, String name, String target) throws IOException {
        if (!Files.exists(folder.resolve(name))) {
            Files.createSymbolicLink(folder.resolve(name), Path.of(target));
        }
    }

    /** Skips the test when the build has not unpacked them; with {@code EP_REQUIRE_COMPILERS=1} the test fails instead. */
    private static Path folder(String name) {
        Path folder = Path.of(System.getProperty("ep.compilers", "target/compilers"), name);
        String reason = "no compiler in " + folder + ": build online once, on Linux on x86-64";
        boolean there = Files.isDirectory(folder) && "amd64".equals(System.getProperty("os.arch"));
        if (!there && "1".equals(System.getenv("EP_REQUIRE_COMPILERS"))) {
            throw new AssertionError(reason);
        }
        if (!there) {
            System.out.println("skipped: " + reason);
        }
        assumeTrue(there, reason);
        return folder;
    }
}
