/** The API that users and backends of ep4j compile against. */
module org.ep4j {
    requires static transitive org.apiguardian.api;
    requires static transitive org.jspecify;

    exports org.ep4j;
    exports org.ep4j.config;
    exports org.ep4j.gpu;
    exports org.ep4j.spi;
    exports org.ep4j.topology;

    uses org.ep4j.EpEngine;
}
