package org.ep4j.gpu.cuda;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.gpu.driver.KernelDialect;
import org.ep4j.spi.DeviceCode;

/** Kernels as machine code of one GPU: from the cache, else from NVRTC; as PTX where NVRTC is older than the GPU. */
record CudaCompiler(Nvrtc nvrtc, KernelCache cache) {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private static final List<String> OPTIONS = List.of("--std=c++17", "-default-device", "--fmad=false");

    /** Registers that a thread of a block of the largest kernel has, of which two run on a multiprocessor: see {@code ll_dispatch_send.cu}. */
    private static final int LEAST_REGISTERS = 56;

    /** Creates a compiler with the NVRTC that fits a driver. */
    static CudaCompiler of(CudaDriver driver) {
        Map<String, String> environment = System.getenv();
        NvrtcInstallation found = NvrtcInstallation.find(environment, Path.of("/"), driver.version());
        return new CudaCompiler(new Nvrtc(found), KernelCache.of(environment));
    }

    /**
     * Compiles {@code source}, which lacks the dialect.
     *
     * @param architecture {@code sm_90}
     * @return machine code, or PTX that ends with a zero byte
     */
    byte[] compile(String name, String source, String architecture) {
        String whole = KernelDialect.CUDA.before(source);
        try {
            return compileWith(name, whole, "-arch=" + architecture);
        } catch (EpUnavailableException e) {
            LOG.log(
                    System.Logger.Level.INFO,
                    "NVRTC " + nvrtc.version() + " does not know " + architecture
                            + "; the driver translates kernels instead");
            return compileWith(name, whole, "-arch=" + nvrtc.newestVirtual());
        }
    }

    private byte[] compileWith(String name, String whole, String architecture) {
        List<String> options = new ArrayList<>(OPTIONS);
        options.add(architecture);
        List<String> parts = parts(options);
        parts.add(whole);
        return cache.get(parts, () -> nvrtc.compile(name, whole, options, Map.of()));
    }

    /** Compiles {@code source}, which lacks the dialect, behind that of a backend, and links it with the backend's libraries. */
    byte[] link(String name, String source, DeviceCode code, String architecture) {
        List<String> parts = parts(options(code, architecture));
        parts.add(code.version());
        new TreeMap<>(code.headers()).forEach((file, text) -> parts.add(file + "\n" + text));
        code.libraries().forEach(library -> parts.add(KernelCache.content(library)));
        parts.add(whole(source, code));
        return cache.get(
                parts,
                () -> NvJitLink.find(System.getenv(), nvrtc.installation())
                        .link(name, object(name, source, code, architecture), code.libraries(), architecture));
    }

    /** Machine code that is not linked yet. */
    byte[] object(String name, String source, DeviceCode code, String architecture) {
        return nvrtc.compile(name, whole(source, code), options(code, architecture), code.headers());
    }

    private static String whole(String source, DeviceCode code) {
        return code.source() + "\n" + KernelDialect.CUDA.before(source);
    }

    private List<String> options(DeviceCode code, String architecture) {
        List<String> options = new ArrayList<>(OPTIONS);
        options.add("-arch=" + architecture);
        options.add("-rdc=true");
        if (nvrtc.splits()) {
            options.add("--split-compile=0");
        }
        // Functions that are not inlined: kernels with fewer registers could not call them.
        options.add("--ptxas-options=--device-function-maxrregcount=" + LEAST_REGISTERS);
        options.addAll(code.options());
        return options;
    }

    private List<String> parts(List<String> options) {
        List<String> parts = new ArrayList<>(options);
        parts.add("nvrtc " + nvrtc.version() + " "
                + KernelCache.identity(nvrtc.installation().compiler()));
        return parts;
    }
}
