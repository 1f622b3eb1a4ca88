/** The API and SPI of ep4j. */
module org.ep4j {
    requires static transitive org.jspecify;
    requires com.google.common;
    requires java.xml;

    exports org.ep4j;
    exports org.ep4j.bootstrap;
    exports org.ep4j.config;
    exports org.ep4j.doctor;
    exports org.ep4j.plan;
    exports org.ep4j.plan.forecast;
    exports org.ep4j.plan.offer;
    exports org.ep4j.spi;
    exports org.ep4j.topology;
    exports org.ep4j.topology.read;

    uses org.ep4j.spi.BootstrapProvider;
    uses org.ep4j.spi.EpRuntime;
    uses org.ep4j.spi.TopologySource;

    provides org.ep4j.spi.BootstrapProvider with
            org.ep4j.bootstrap.TcpBootstrapProvider;
}
