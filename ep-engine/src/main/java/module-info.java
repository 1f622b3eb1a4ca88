/** The engine of ep4j: runs dispatch and combine on a device over a plan. Nothing is exported: it is found as a service. */
module org.ep4j.engine {
    requires static transitive org.jspecify;
    requires com.sun.jna;
    requires jdk.jfr;
    requires org.bytedeco.javacpp;
    requires transitive org.ep4j;
    requires transitive org.ep4j.planner;
    requires org.ep4j.gpu;
    requires org.ep4j.transport;

    uses org.ep4j.spi.BootstrapProvider;
    uses org.ep4j.spi.DeviceProvider;
    uses org.ep4j.spi.EpBackendProvider;

    provides org.ep4j.spi.BootstrapProvider with
            org.ep4j.engine.bootstrap.TcpBootstrapProvider,
            org.ep4j.engine.pmix.PmixBootstrapProvider;
    provides org.ep4j.EpEngine with
            org.ep4j.engine.Engine;
    provides org.ep4j.spi.DeviceProvider with
            org.ep4j.engine.HostDeviceProvider;
}
