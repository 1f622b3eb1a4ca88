package org.ep4j.doctor;

/** Libraries whose versions the doctor examines. */
public enum KnownLibrary {
    NVSHMEM("libnvshmem_host.so", "nvidia_nvshmem_cu"),
    NCCL("libnccl.so", "nvidia_nccl_cu"),
    RCCL("librccl.so", "rccl"),
    NVRTC("libnvrtc.so", "nvidia_cuda_nvrtc"),
    HIPRTC("libhiprtc.so", "rocm_sdk_core"),
    /** AMD's runtime; until ROCm 5 it holds the compiler, too. */
    HIP("libamdhip64.so", "rocm_sdk_core"),
    VERBS("libibverbs.so", ""),
    /** Verbs driver of NVIDIA NICs. */
    MLX5("libmlx5.so", ""),
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
}
