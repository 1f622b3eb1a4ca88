package org.ep4j.tck;

/** What the ranks of a run are. */
public enum RankMode {
    /** Threads of one JVM. */
    THREADS(Capability.THREADS),
    /** One process each. */
    PROCESSES(Capability.PROCESSES);

    private final Capability capability;

    RankMode(Capability capability) {
        this.capability = capability;
    }

    /** What a subject must declare to be run this way. */
    public Capability capability() {
        return capability;
    }
}
