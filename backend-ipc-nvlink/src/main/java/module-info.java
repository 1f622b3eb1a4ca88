/** The transport {@code ipc-nvlink}: memory of NVIDIA GPUs that ranks map into each other. */
module org.ep4j.backend.nvlink {
    requires transitive org.ep4j;
    requires transitive org.ep4j.gpu;
    requires transitive org.ep4j.transport;
    requires static org.jspecify;

    exports org.ep4j.backend.nvlink;

    provides org.ep4j.spi.EpBackendProvider with
            org.ep4j.backend.nvlink.IpcNvlinkProvider;
}
