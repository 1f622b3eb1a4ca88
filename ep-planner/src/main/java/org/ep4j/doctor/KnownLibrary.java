package org.ep4j.doctor;

import java.util.List;

/** Libraries whose versions the doctor examines. */
public enum KnownLibrary {
    /** NVSHMEM's host library. */
    NVSHMEM("libnvshmem_host.so", "nvidia_nvshmem_cu"),
    /** NVIDIA's collectives. */
    NCCL("libnccl.so", "nvidia_nccl_cu"),
    /** AMD's collectives. */
    RCCL("librccl.so", "rccl"),
    /** NVIDIA's run-time compiler. */
    NVRTC("libnvrtc.so", "nvidia_cuda_nvrtc"),
    /** AMD's run-time compiler. */
    HIPRTC("libhiprtc.so", "rocm_sdk_core"),
    /** AMD's runtime; until ROCm 5 it holds the compiler, too. */
    HIP("libamdhip64.so", "rocm_sdk_core"),
    /** The verbs library. */
    VERBS("libibverbs.so", ""),
    /** Verbs driver of NVIDIA NICs. */
    MLX5("libmlx5.so", ""),
    /** libfabric. */
    LIBFABRIC("libfabric.so", "");

    private final String file;
    private final String pythonPackage;

    KnownLibrary(String file, String pythonPackage) {
        this.file = file;
        this.pythonPackage = pythonPackage;
    }

    /** Name of the library's file up to the version, for example {@code libnccl.so}. */
    public String file() {
        return file;
    }

    /** Beginning of the name of the Python package that brings it; empty when there is none. */
    String pythonPackage() {
        return pythonPackage;
    }

    static List<KnownLibrary> all() {
        return List.of(values());
    }
}
