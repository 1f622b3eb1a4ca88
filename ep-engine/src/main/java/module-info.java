/** The engine of ep4j: runs dispatch and combine on a device over a plan. */
module org.ep4j.engine {
    requires static transitive org.jspecify;
    requires com.sun.jna;
    requires jdk.jfr;
    requires org.bytedeco.javacpp;
    requires transitive org.ep4j;
    requires transitive org.ep4j.planner;

    exports org.ep4j.engine.collective;
    exports org.ep4j.engine.cuda;
    exports org.ep4j.engine.driver;
    exports org.ep4j.engine.gpu;
    exports org.ep4j.engine.hip;
    exports org.ep4j.engine.layout;
    exports org.ep4j.engine.membership;
    exports org.ep4j.engine.memory;
    exports org.ep4j.engine.proxy;
    exports org.ep4j.engine.sync;

    uses org.ep4j.spi.BootstrapProvider;
    uses org.ep4j.spi.DeviceProvider;
    uses org.ep4j.spi.EpBackendProvider;

    provides org.ep4j.spi.BootstrapProvider with
            org.ep4j.engine.bootstrap.TcpBootstrapProvider,
            org.ep4j.engine.pmix.PmixBootstrapProvider;
    provides org.ep4j.EpEngine with
            org.ep4j.engine.Engine;
    provides org.ep4j.spi.DeviceProvider with
            org.ep4j.engine.cuda.CudaDeviceProvider,
            org.ep4j.engine.hip.HipDeviceProvider,
            org.ep4j.engine.HostDeviceProvider;
    provides org.ep4j.topology.read.TopologySource with
            org.ep4j.engine.topology.HipSource,
            org.ep4j.engine.topology.NvmlSource;
}
