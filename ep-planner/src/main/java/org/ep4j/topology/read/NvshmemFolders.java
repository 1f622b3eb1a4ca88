package org.ep4j.topology.read;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Folders of an NVSHMEM installation, for the backend that loads it and for reports. An installation is whole where a
 * folder holds the host library and the archive, and one of {@link #headers} holds the headers.
 */
public final class NvshmemFolders {
    /** File name of the host library, which a process loads. */
    public static final String HOST = "libnvshmem_host.so.3";

    /** File name of the device library, which kernels are linked with. */
    public static final String DEVICE = "libnvshmem_device.a";

    /** The header with the version, below the folder of the headers. */
    public static final String VERSION = "non_abi/nvshmem_version.h";

    private NvshmemFolders() {}

    /**
     * Folders that may contain the libraries, if {@code path} is an installation, its folder of libraries, or a
     * library.
     */
    public static List<Path> named(Path path) {
        List<Path> folders = new ArrayList<>(List.of(
                path.resolve("lib"),
                path.resolve("lib64"),
                path.resolve("lib/x86_64-linux-gnu/nvshmem/13"),
                path.resolve("lib/x86_64-linux-gnu/nvshmem/12"),
                path));
        Optional.ofNullable(path.getParent()).ifPresent(folders::add);
        return folders;
    }

    /** Folders that may contain the headers for the libraries in the folder {@code libraries}. */
    public static List<Path> headers(Path libraries) {
        // NVIDIA's Debian packages: lib/x86_64-linux-gnu/nvshmem/13 and include/nvshmem_13.
        Path packaged = libraries.resolve("../../../../include/nvshmem_" + libraries.getFileName());
        return List.of(libraries.resolve("../include").normalize(), packaged.normalize());
    }
}
