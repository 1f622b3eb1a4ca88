package org.ep4j.engine.gpu;

import java.time.Duration;
import java.util.Deque;
import java.util.function.IntFunction;
import org.ep4j.engine.sync.Relays;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DevicePosted;

/** Way of a GPU to write to peers whose symmetric memory it does not map. Methods with a default concern host threads that post, of which there may be none. */
interface Posting {
    /** All peers are mapped. */
    Posting NONE = () -> 0;

    /** Address of the {@link PathTable}; 0 if all peers are mapped. */
    long tableAddress();

    /** Starts the threads' polling; an operation is about to be queued. */
    default void wake() {}

    /** Lets the threads sleep; no operation is in flight. */
    default void quiet() {}

    /** Forgets commands of kernels that gave up. Throws if a thread is inside a call of a backend at the deadline; can be repeated. */
    default void restart(Duration deadline) {}

    /** Waits until all commands of kernels are taken. Returns false if some were not at the deadline. */
    default boolean finish(Duration deadline) {
        return true;
    }

    /** Ends soon, without a wait. From here on it gives up no rank: kernels wait for ranks in other memory. */
    default void retire() {}

    /** Ends, and waits for the threads. Returns false if one still uses the memory at the deadline. */
    default boolean end(Duration longest) {
        return true;
    }

    /** Returns whether nothing is posted to a rank any more, nor its arrivals published. */
    default boolean hasGivenUp(int rank) {
        return false;
    }

    /** Creates the posting of a rank for which no host threads post; {@link DevicePosted#flush} waits for puts of its kernels, too. */
    static Posting byKernels(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            int rank,
            GpuWindow window,
            Relays relays,
            Deque<Runnable> owned) {
        IntFunction<PathTable.Writes> none = peer -> {
            throw new IllegalStateException("no threads post to rank " + peer);
        };
        long table = PathTable.write(device, copies, plan, rank, window, relays, none, owned);
        return () -> table;
    }
}
