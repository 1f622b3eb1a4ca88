package org.ep4j.engine.gpu;

import java.util.Set;
import java.util.function.BiFunction;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.FreshMemory;
import org.ep4j.engine.sync.SymmetricMemory;

/** Makes the memory in which a buffer of a GPU goes on, with what the buffer's kernels need of it. */
public interface FreshGpuMemory extends FreshMemory {
    /**
     * Makes fresh memory on all survivors, see {@link FreshMemory#make}, and what the buffer needs to use it.
     *
     * @param use makes of the symmetric memory and the windows what the buffer needs; when it fails on one rank, the call fails on all
     * @param undo frees that again, before the memory, when the call fails on a rank; also where {@code use} was not called
     */
    <T> T make(
            long epoch,
            Set<Integer> lost,
            Deadline deadline,
            BiFunction<SymmetricMemory, GpuWindows, T> use,
            Runnable undo);
}
