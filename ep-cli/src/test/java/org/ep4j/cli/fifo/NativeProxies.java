package org.ep4j.cli.fifo;

import org.ep4j.transport.memory.WordMemory;

/** The threads of {@code proxy.cpp}. */
final class NativeProxies implements Consumers.Running {
    private static final int STRIDE = 128;

    private final WordMemory sums;
    private final WordMemory table;
    private final int rings;
    private final long handle;

    NativeProxies(RingMemory ringMemory, int threads, int rings) {
        this.rings = rings;
        this.sums = WordMemory.allocate((long) STRIDE * rings);
        this.table = WordMemory.allocate(8L * rings);
        for (int i = 0; i < rings; i++) {
            table.words().putLong(8L * i, ringMemory.address() + ringMemory.offset(i));
        }
        handle = NativeCalls.start(
                table.address(),
                rings,
                ringMemory.commands(),
                threads,
                sums.address(),
                ringMemory.address() + RingMemory.ANSWER);
    }

    @Override
    public long close() {
        NativeCalls.stop(handle);
        long sum = 0;
        for (int i = 0; i < rings; i++) {
            sum += sums.words().getLong((long) STRIDE * i);
        }
        return sum;
    }
}
