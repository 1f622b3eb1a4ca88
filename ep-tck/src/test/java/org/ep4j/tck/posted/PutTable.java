package org.ep4j.tck.posted;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.util.concurrent.atomic.AtomicInteger;

/** Where windows begin, at an address that kernels are compiled with: emulated ones see all memory of the process. */
final class PutTable {
    private static final long ADDRESS = 0x5ee000000000L;
    private static final int SLOTS = 1 << 15;
    private static final AtomicInteger MADE = new AtomicInteger();

    /** What kernels call, see {@link org.ep4j.spi.DevicePosted}; what a warp or block does together, each of its threads does here. */
    static final String SOURCE = """
            static inline char* ep_put_there(const void* here, int number) {
              const long* begins = (const long*)%#xl;
              return (char*)here + (begins[number & 0x7fff] - begins[number >> 15 & 0x7fff]);
            }
            static inline void ep_posted_put(char* to, const char* from, unsigned long long bytes, int peer) {
              __builtin_memcpy(ep_put_there(to, peer), from, bytes);
            }
            static inline void ep_posted_put_wave(char* to, const char* from, unsigned long long bytes, int peer) {
              ep_posted_put(to, from, bytes, peer);
            }
            static inline void ep_posted_put_block(char* to, const char* from, unsigned long long bytes, int peer) {
              ep_posted_put(to, from, bytes, peer);
            }
            static inline void ep_posted_signal(unsigned long long* counter, unsigned long long value, int peer) {
              __atomic_store_n((unsigned long long*)ep_put_there(counter, peer), value, __ATOMIC_RELEASE);
            }
            static inline void ep_posted_put_signal(
                char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
              ep_posted_put(to, from, bytes, peer);
              ep_posted_signal(counter, value, peer);
            }
            static inline void ep_posted_put_signal_wave(
                char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
              ep_posted_put_signal(to, from, bytes, counter, value, peer);
            }
            static inline void ep_posted_put_signal_block(
                char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
              ep_posted_put_signal(to, from, bytes, counter, value, peer);
            }
            static inline void ep_posted_prepare(const void*) {}
            static inline void ep_posted_quiet() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
            """.formatted(ADDRESS);

    private static final class Holder {
        static final PutTable TABLE = new PutTable();
    }

    private final Pointer slots;

    private PutTable() {
        // Read and write; private, anonymous, at this address or not at all.
        Function map = NativeLibrary.getProcess().getFunction("mmap");
        slots = map.invokePointer(new Object[] {new Pointer(ADDRESS), 8L * SLOTS, 3, 0x100022, -1, 0L});
        if (Pointer.nativeValue(slots) != ADDRESS) {
            throw new IllegalStateException("no memory at " + Long.toHexString(ADDRESS));
        }
    }

    static PutTable get() {
        return Holder.TABLE;
    }

    /** Gives the slot of a window that begins at an address. */
    int add(long address) {
        int slot = MADE.getAndIncrement() % SLOTS;
        slots.setLong(8L * slot, address);
        return slot;
    }
}
