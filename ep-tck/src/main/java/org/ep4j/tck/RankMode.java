package org.ep4j.tck;

/** The way in which the ranks of a run run. */
public enum RankMode {
    /** Ranks are threads of one JVM. */
    THREADS,
    /** Ranks are processes. */
    PROCESSES;

    /** Returns the capability that a subject must declare for this mode. */
    public Capability capability() {
        return Capability.valueOf(name());
    }
}
