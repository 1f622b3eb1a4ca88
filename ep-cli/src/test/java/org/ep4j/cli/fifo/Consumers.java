package org.ep4j.cli.fifo;

/** Who takes commands from rings. */
enum Consumers {
    /** {@link org.ep4j.engine.proxy.ProxyThreads}. */
    JAVA("Java"),

    /** {@code proxy.cpp}. */
    CPP("C++");

    private final String text;

    Consumers(String text) {
        this.text = text;
    }

    String text() {
        return text;
    }

    /** Starts threads on the first so many rings. */
    Running start(RingMemory ringMemory, int threads, int rings) {
        return this == JAVA
                ? new JavaProxies(ringMemory, threads, rings)
                : new NativeProxies(ringMemory, threads, rings);
    }

    /** Threads that consume commands. */
    interface Running {
        /** Ends the threads, and returns the sum of the fields of all commands. */
        long close();
    }
}
