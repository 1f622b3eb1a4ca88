package org.ep4j.cli.doctor;

import java.util.List;
import java.util.Optional;
import org.ep4j.spi.Check;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuVendor;

/** Parts of a machine that people know by name; each has a line of its own in the summary. */
enum Subject {
    HOST("host"),
    NETWORK("network"),
    NVIDIA("NVIDIA"),
    AMD("AMD"),
    RDMA("RDMA");

    private final String title;

    Subject(String title) {
        this.title = title;
    }

    String title() {
        return title;
    }

    /** Backends of this project that are for it. */
    List<String> backends() {
        return switch (this) {
            case HOST -> List.of("host-shm");
            case NETWORK -> List.of("efa");
            case NVIDIA -> List.of("ipc-nvlink", "nvshmem-ibgda");
            case AMD -> List.of("rocm");
            case RDMA -> List.of("ibrc-multiqp");
        };
    }

    /** The subject of a device or a backend; empty for backends of others. */
    static Optional<Subject> of(Probe probe) {
        return switch (probe.name()) {
            case "host", "host-shm" -> Optional.of(HOST);
            case "efa" -> Optional.of(NETWORK);
            case "cuda", "ipc-nvlink", "nvshmem-ibgda" -> Optional.of(NVIDIA);
            case "hip", "rocm" -> Optional.of(AMD);
            case "ibrc-multiqp" -> Optional.of(RDMA);
            default -> Optional.empty();
        };
    }

    /** The subject of a check of the doctor: NICs and their way to GPUs belong to RDMA, links of GPUs to the vendor of the first GPU. */
    static Subject of(Check check, List<Gpu> gpus) {
        return switch (check.code()) {
            case "EP-CFG-001", "EP-TOPO-001", "EP-MEM-002" -> HOST;
            case "EP-GPU-001" ->
                gpus.stream()
                        .findFirst()
                        .filter(gpu -> gpu.vendor() == GpuVendor.AMD)
                        .map(gpu -> AMD)
                        .orElse(NVIDIA);
            case "EP-GPU-002",
                    "EP-GDR-002",
                    "EP-IBGDA-001",
                    "EP-IBGDA-002",
                    "EP-IBGDA-003",
                    "EP-IBGDA-004",
                    "EP-LIB-001",
                    "EP-LIB-003" -> NVIDIA;
            case "EP-LIB-002" -> AMD;
            default -> RDMA;
        };
    }

    /** GPUs that it is about. */
    List<Gpu> of(List<Gpu> gpus) {
        return gpus.stream().filter(gpu -> gpu.vendor().name().equals(name())).toList();
    }
}
