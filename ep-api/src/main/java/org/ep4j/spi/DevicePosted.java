package org.ep4j.spi;

import java.util.OptionalLong;
import org.apiguardian.api.API;
import org.ep4j.DeviceMemory;

/**
 * Capability of a {@link SymmetricBuffer}: kernels of this rank's GPU write into the memory of peers by calls of a device library.
 * The backend allocates the memory ({@link AllocatesMemory.Purpose#DEVICE_POSTED}); on all ranks it has the same layout. The host writes
 * the few words that it sends itself as with any {@link HostPosted} buffer, and sees the counters that kernels advance.
 *
 * <p>{@link DeviceCode#source} defines these functions outside of any namespace, for the device. All but the last
 * one go to one peer, by its {@link #peerNumber}. {@code to} and {@code counter} are addresses in this rank's memory that stand
 * for the same places of the peer's; {@code from} is in this rank's memory, stays as it is until the peer has seen what comes with it or {@code
 * ep_posted_quiet} has returned, and addresses and sizes are multiples of 16 bytes, counters of 8. The functions
 * report no errors: they wait while a queue is full or an in-flight limit is reached.
 *
 * <ul>
 *   <li>{@code void ep_posted_put_wave(char* to, const char* from, unsigned long long bytes, int peer)}: begins to write; called by
 *       all threads of a warp
 *   <li>{@code void ep_posted_put_signal_wave(char* to, const char* from, unsigned long long bytes, unsigned long long* counter,
 *       unsigned long long value, int peer)}: likewise, and sets a word when all of it is there
 *   <li>{@code void ep_posted_put_message_wave(char* to, const char* from, unsigned long long bytes, int peer)}: as {@code
 *       ep_posted_put_wave}, for low latency. Limits of writes in flight count this and puts with a signal as messages, all other puts
 *       as writes of high throughput: see {@code org.ep4j.plan.offer.FlowLimits}
 *   <li>{@code void ep_posted_signal(unsigned long long* counter, unsigned long long value, int peer)}: sets a word; called by one
 *       thread
 *   <li>{@code void ep_posted_quiet()}: called by one thread; returns when all puts of the calling thread, and of threads of this GPU whose
 *       writes it has observed, are visible at their peers
 * </ul>
 *
 * <p>Kernels do not call these functions for a peer that has a {@link #mappedOffset}: they store to its memory themselves, and a release
 * after these stores makes them visible.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public interface DevicePosted extends HostPosted {
    /** Source and libraries that kernels are compiled and linked with; the same for all buffers of the backend. */
    DeviceCode code();

    /** Number of the peer {@code rank} in calls of the device library. */
    int peerNumber(int rank);

    /**
     * Offset that kernels add to an address in {@link SymmetricBuffer#local()} or {@link #counters()} to load and store
     * at the same place in the peer's memory; empty if this GPU does not map that memory.
     */
    default OptionalLong mappedOffset(int rank) {
        return OptionalLong.empty();
    }

    /**
     * Memory of the counters of {@link HostPosted}; this memory is not part of {@link SymmetricBuffer#local()}. Counter
     * {@code c} that source rank {@code s} advances is the word at byte {@code (c * R + s) * 64} of this memory, where
     * {@code R} is the plan's number of ranks.
     */
    DeviceMemory counters();

    /**
     * Prepares a loaded module for calls of the device library; called before any of its kernels is launched, and while
     * no stream of the calling thread captures a graph.
     *
     * @param module the driver's handle
     */
    void attach(long module);

    /** Detaches a module from the device library; called before the module is unloaded. */
    void detach(long module);
}
