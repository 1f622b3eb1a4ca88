/** The transport {@code ibrc-multiqp}: reliable connections of InfiniBand and RoCE, posted to by host threads. */
module org.ep4j.backend.ibrc {
    requires transitive org.ep4j;
    requires transitive org.ep4j.gpu;
    requires transitive org.ep4j.transport;
    requires org.bytedeco.javacpp;
    requires static org.jspecify;

    exports org.ep4j.backend.ibrc;

    provides org.ep4j.spi.EpBackendProvider with
            org.ep4j.backend.ibrc.IbrcProvider;
}
