package org.ep4j.cli.fifo;

/** Who takes commands from rings. */
enum Takers {
    /** {@link org.ep4j.engine.proxy.ProxyThreads}. */
    JAVA("Java"),

    /** {@code proxy.cpp}. */
    CPP("C++");

    private final String text;

    Takers(String text) {
        this.text = text;
    }

    String text() {
        return text;
    }

    /** Started on the first so many rings of a room. */
    Running start(Room room, int threads, int rings) {
        return this == JAVA ? new JavaProxies(room, threads, rings) : new NativeProxies(room, threads, rings);
    }

    /** Threads that take. */
    interface Running {
        /** Ends them; what the fields of all commands add up to. */
        long close();
    }
}
