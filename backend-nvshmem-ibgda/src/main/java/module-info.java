/** The transport {@code nvshmem-ibgda}: NVSHMEM, whose device library lets GPUs post to NICs themselves. */
module org.ep4j.backend.nvshmem {
    requires transitive org.ep4j;
    requires transitive org.ep4j.gpu;
    requires transitive org.ep4j.transport;
    requires com.sun.jna;
    requires static org.jspecify;

    exports org.ep4j.backend.nvshmem;

    // JNA fills in native methods.
    opens org.ep4j.backend.nvshmem to
            com.sun.jna;

    provides org.ep4j.spi.EpBackendProvider with
            org.ep4j.backend.nvshmem.NvshmemProvider;
}
