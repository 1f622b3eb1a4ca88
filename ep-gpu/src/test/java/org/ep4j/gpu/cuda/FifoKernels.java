package org.ep4j.gpu.cuda;

/** Kernels that put commands into a ring. */
public final class FifoKernels {
    /** With the waits of the engine: every thread puts {@code rows} pairs of a write and an advance, and counts them in {@code statistics[0]}. */
    public static final String OF_THE_ENGINE = """
            EP_KERNEL(fifo_test, EP_LANES * 2) {
              const Fifo fifo = *(const Fifo*)op.extra;
              const u64 thread = blockIdx.x * blockDim.x + threadIdx.x;
              for (i64 i = 0; i < op.rows; i++) {
                const u64 number = thread * op.rows + i;
                if (!fifo_write(op, fifo, 1, number * 16, number * 32, 16 + number * 16, PHASE_DISPATCH_ROWS)) return;
                if (!fifo_advance(op, fifo, 2, (int)(number % 64), number, PHASE_DISPATCH_ROWS)) return;
                add(op.statistics, 1);
              }
            }
            """;

    /** Without the engine. */
    public static final String ALONE = """
            struct Op { const Fifo* fifo; u64 count; };
            EP_KERNEL(fifo_alone, EP_LANES) {
              for (u64 i = 0; i < op.count; i++) {
                u64 tail;
                const u64 index = fifo_take_index(*op.fifo, &tail);
                while (!fifo_has_room(*op.fifo, index, &tail)) pause();
                fifo_put(*op.fifo, index, fifo_write_word0(i * 16, 16), fifo_write_word1(0, 0));
              }
            }
            """;

    private FifoKernels() {}
}
