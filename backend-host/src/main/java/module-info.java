/** The transport {@code host-shm}: shared memory between ranks of one machine. */
module org.ep4j.backend.host {
    requires transitive org.ep4j;
    // Whoever adds this backend gets the engine with it.
    requires transitive org.ep4j.transport;
    requires com.sun.jna;
    requires static org.jspecify;

    exports org.ep4j.backend.host;

    provides org.ep4j.spi.EpBackendProvider with
            org.ep4j.backend.host.HostShmProvider;
}
