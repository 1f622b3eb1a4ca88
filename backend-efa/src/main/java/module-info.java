/** The transport {@code efa}: libfabric, written by host threads. */
module org.ep4j.backend.efa {
    requires transitive org.ep4j;
    requires transitive org.ep4j.gpu;
    requires transitive org.ep4j.transport;
    requires org.bytedeco.javacpp;
    requires static org.jspecify;

    exports org.ep4j.backend.efa;

    provides org.ep4j.spi.EpBackendProvider with
            org.ep4j.backend.efa.EfaProvider;
}
