package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Deque;
import java.util.List;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Relays;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DevicePosted;
import org.ep4j.transport.memory.DeviceAllocation;

/** Way of a GPU to post to peers that it does not map. Methods with a default concern host threads that post, of which there may be none. */
interface Posting {
    /** All peers are mapped. */
    Posting NONE = () -> 0;

    /** Address of the table of {@code struct Remote}, by rank; 0 if all peers are mapped. */
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

    /** Writes the words of a {@code struct Remote} that follow the addresses of its channels. */
    interface Entry {
        /** Writes; {@code index} is that of the peer's channel, {@code there} the offset of this rank's channel in the peer's window. */
        void put(ByteBuffer words, int index, int peer, long there);
    }

    /** Writes a table of {@code struct Remote} to the GPU and returns its address; {@code owned} gets what frees it. */
    static long table(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            int rank,
            GpuWindow window,
            int bytes,
            Entry entry,
            Deque<Runnable> owned) {
        DeviceAllocation table = device.allocatePrivate((long) plan.ranks() * bytes);
        owned.push(table::close);
        WindowLayout layout = window.layout();
        List<Integer> remotes = GpuWindow.remotes(plan, rank);
        ByteBuffer words = Copies.buffer(plan.ranks() * bytes);
        for (int index = 0; index < remotes.size(); index++) {
            int peer = remotes.get(index);
            words.position(peer * bytes);
            words.putLong(window.address() + layout.outgoing(index)).putLong(window.address() + layout.incoming(index));
            entry.put(words, index, peer, layout.incoming(GpuWindow.place(plan, peer, rank)));
        }
        words.position(plan.ranks() * bytes);
        copies.write(table.memory().address(), words);
        return table.memory().address();
    }

    /** Creates the posting of kernels that call a device library; {@link DevicePosted#flush} waits for their puts, too. */
    static Posting byKernels(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            int rank,
            GpuWindow window,
            DevicePosted posted,
            Relays relays,
            Deque<Runnable> owned) {
        Entry entry = (words, index, peer, there) -> words.putLong(window.address() + there)
                .putLong(posted.peerNumber(peer))
                .putLong(relays.relay(rank, peer, Mask.NONE))
                .putLong(relays.relay(peer, rank, Mask.NONE))
                .putLong(posted.mappedOffset(peer).orElse(0));
        long table = table(device, copies, plan, rank, window, 7 * Long.BYTES, entry, owned);
        return () -> table;
    }
}
