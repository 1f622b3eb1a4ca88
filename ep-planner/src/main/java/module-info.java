/**
 * Plans, forecasts, topology readers and the doctor. For tools that examine machines, with or without an engine,
 * and for the offers of backends; programs that run a model do not need it.
 */
module org.ep4j.planner {
    requires static transitive org.jspecify;
    requires transitive org.ep4j;
    requires com.google.common;
    requires java.xml;

    exports org.ep4j.doctor;
    exports org.ep4j.plan;
    exports org.ep4j.plan.forecast;
    exports org.ep4j.plan.offer;
    exports org.ep4j.topology.model;
    exports org.ep4j.topology.read;

    uses org.ep4j.topology.read.TopologySource;
}
