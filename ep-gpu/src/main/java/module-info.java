/** NVIDIA and AMD GPUs: drivers, run-time compilers, memory that processes share, and the topology that vendors' libraries report. */
module org.ep4j.gpu {
    requires static transitive org.jspecify;
    requires transitive org.ep4j;
    requires transitive org.ep4j.planner;
    requires transitive org.ep4j.transport;
    requires com.sun.jna;

    exports org.ep4j.gpu.cuda;
    exports org.ep4j.gpu.driver;
    exports org.ep4j.gpu.hip;

    provides org.ep4j.spi.DeviceProvider with
            org.ep4j.gpu.cuda.CudaDeviceProvider,
            org.ep4j.gpu.hip.HipDeviceProvider;
    provides org.ep4j.topology.read.TopologySource with
            org.ep4j.gpu.topology.HipSource,
            org.ep4j.gpu.topology.NvmlSource;
}
