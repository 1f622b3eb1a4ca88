package org.ep4j.backend.nvshmem;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The headers of the CUDA toolkit that those of NVSHMEM include: of the runtime, and CCCL. */
final class CudaHeaders {
    private static final String RUNTIME = "cuda_runtime.h";
    private static final String CCCL = "cuda/std/type_traits";

    private CudaHeaders() {}

    /**
     * Folders to include from; empty where there are none.
     *
     * @param nvshmem headers of NVSHMEM, beside whose Python package those of CUDA may be
     */
    static List<Path> find(Path nvshmem, Map<String, String> environment, Path root) {
        for (Path folder : folders(nvshmem, environment, root)) {
            if (!Files.isRegularFile(folder.resolve(RUNTIME))) {
                continue;
            }
            for (Path cccl : List.of(folder.resolve("cccl"), folder, folder.resolve("../../cuda_cccl/include"))) {
                if (Files.isRegularFile(cccl.resolve(CCCL))) {
                    return List.of(folder, cccl.normalize());
                }
            }
        }
        return List.of();
    }

    /** Where they were looked for. */
    static Set<Path> folders(Path nvshmem, Map<String, String> environment, Path root) {
        Set<Path> folders = new LinkedHashSet<>();
        for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
            String text = environment.getOrDefault(variable, "");
            if (!text.isBlank()) {
                folders.add(Path.of(text, "include"));
            }
        }
        folders.add(root.resolve("usr/local/cuda/include"));
        for (int major : new int[] {13, 12}) {
            for (int minor = 9; minor >= 0; minor--) {
                folders.add(root.resolve("usr/local/cuda-" + major + "." + minor + "/include"));
            }
        }
        List<String> packages = new ArrayList<>(List.of("cu13/include", "cu12/include", "cuda_runtime/include"));
        Optional.ofNullable(nvshmem.getParent())
                .flatMap(home -> Optional.ofNullable(home.getParent()))
                .ifPresent(nvidia -> packages.forEach(one -> folders.add(nvidia.resolve(one))));
        folders.add(root.resolve("usr/include"));
        return folders;
    }
}
