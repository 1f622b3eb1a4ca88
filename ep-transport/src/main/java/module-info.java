/** Parts that backends are built of: collective steps of opening, host memory, bindings of native libraries, and the frame of posted backends. */
module org.ep4j.transport {
    requires static transitive org.jspecify;
    requires transitive org.ep4j;
    requires transitive org.ep4j.planner;
    requires transitive com.sun.jna;
    requires jdk.jfr;
    requires org.bytedeco.javacpp;

    exports org.ep4j.transport;
    exports org.ep4j.transport.memory;
    exports org.ep4j.transport.posted;
}
