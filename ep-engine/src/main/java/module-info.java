/** The engine of ep4j: runs dispatch and combine on a device over a plan. */
module org.ep4j.engine {
    requires static transitive org.jspecify;
    requires com.sun.jna;
    requires transitive org.ep4j;

    uses org.ep4j.spi.DeviceProvider;
    uses org.ep4j.spi.EpBackendProvider;

    provides org.ep4j.spi.EpRuntime with
            org.ep4j.engine.EngineRuntime;
    provides org.ep4j.spi.DeviceProvider with
            org.ep4j.engine.HostDeviceProvider;
    provides org.ep4j.spi.TopologySource with
            org.ep4j.engine.topology.HipSource,
            org.ep4j.engine.topology.NvmlSource;
}
