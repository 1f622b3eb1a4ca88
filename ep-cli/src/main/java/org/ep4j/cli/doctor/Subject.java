package org.ep4j.cli.doctor;

import java.util.Optional;
import org.ep4j.spi.Check;
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

    static Subject of(Check check, Hardware hardware) {
        return switch (check.code().substring(0, check.code().lastIndexOf('-'))) {
            case "EP-GPU" -> ofGpus(hardware);
            // What is between GPUs and NICs, or between GPUs where there is no NIC.
            case "EP-PCI" -> hardware.rdmaNics().isEmpty() ? ofGpus(hardware) : RDMA;
            case "EP-IBGDA" -> NVIDIA;
            case "EP-NIC", "EP-GID", "EP-NCCL", "EP-NET" -> RDMA;
            case "EP-GDR" -> check.code().equals("EP-GDR-002") ? NVIDIA : RDMA;
            case "EP-MEM" -> check.code().equals("EP-MEM-002") ? HOST : RDMA;
            case "EP-LIB" ->
                switch (check.code()) {
                    case "EP-LIB-001", "EP-LIB-003" -> NVIDIA;
                    case "EP-LIB-002" -> AMD;
                    case "EP-LIB-004", "EP-LIB-006" -> RDMA;
                    default -> HOST;
                };
            default -> HOST;
        };
    }

    private static Subject ofGpus(Hardware hardware) {
        return hardware.gpus().stream()
                .findFirst()
                .filter(gpu -> gpu.vendor() == GpuVendor.AMD)
                .map(gpu -> AMD)
                .orElse(NVIDIA);
    }

    /** Hardware of a machine that it is about; empty where there is none. */
    String of(Hardware hardware) {
        return switch (this) {
            case NVIDIA -> hardware.models(GpuVendor.NVIDIA);
            case AMD -> hardware.models(GpuVendor.AMD);
            case RDMA -> hardware.nics();
            default -> "";
        };
    }

    /** What is missing where there is none of its hardware. */
    String absence() {
        return switch (this) {
            case NVIDIA -> "no NVIDIA GPU here";
            case AMD -> "no AMD GPU here";
            case RDMA -> "no RDMA NIC here";
            default -> "";
        };
    }
}
