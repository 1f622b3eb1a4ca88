/** The transport {@code rocm}: memory of AMD GPUs that ranks map into each other. */
module org.ep4j.backend.rocm {
    requires transitive org.ep4j;
    requires transitive org.ep4j.gpu;
    requires transitive org.ep4j.transport;
    requires static org.jspecify;

    exports org.ep4j.backend.rocm;

    provides org.ep4j.spi.EpBackendProvider with
            org.ep4j.backend.rocm.RocmProvider;
}
