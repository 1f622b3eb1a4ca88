package org.ep4j.cli.rank;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Bytes on the heap of the JVM that the calling thread has allocated, as the JVM counts them: exact, and read without allocating. */
public final class HeapBytes {
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Returns the bytes since the thread began; the difference of two calls is what it has allocated between them. */
    public long soFar() {
        return threads.getCurrentThreadAllocatedBytes();
    }
}
