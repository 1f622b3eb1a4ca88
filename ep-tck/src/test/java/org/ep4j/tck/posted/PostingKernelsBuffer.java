package org.ep4j.tck.posted;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.memory.HostMemory;

/**
 * Memory of one rank's emulated GPU, from which its kernels post: they queue commands behind the memory, and a thread executes them with the
 * weakest order that the contract allows. A write arrives late, in pieces and in any order, its source is read when a piece arrives, and a
 * word arrives after the write that it came with and after earlier words for the same peer.
 */
final class PostingKernelsBuffer implements SymmetricBuffer, DevicePosted {
    private static final int COUNTER_BYTES = 64;

    /** Commands that the queue holds; a power of two. */
    private static final int COMMANDS = 64;

    private static final long COMMAND_BYTES = 8 * Long.BYTES;

    private static final long QUEUE_BYTES = (COMMANDS + 1) * COMMAND_BYTES;

    /** Of the queue: commands that were taken from it, and the last one for which {@code ep_posted_quiet} need not wait. */
    private static final long HEAD = 8;

    private static final long QUIET = 16;

    /** Bytes that kernels have put so far, through all buffers. */
    private static final AtomicLong PUT = new AtomicLong();

    /** The queue ends where the allocation does. A module of kernels is loaded for one buffer. */
    private static final DeviceCode CODE =
            DeviceCode.builder("posting kernels", """
            typedef unsigned long long ep_word;
            extern "C" int cuPointerGetAttribute(void*, int, const void*);
            namespace ep {
            static int lane();
            static void pause();
            }
            struct EpCommand { ep_word ready, to, from, bytes, peer, word, value, unused; };
            struct EpQueue { ep_word tail, head, quiet, unused[5]; EpCommand commands[64]; };
            static EpQueue* ep_queue;

            static ep_word ep_push(const EpCommand& command) {
              if (!__atomic_load_n(&ep_queue, __ATOMIC_RELAXED)) {
                char* base = 0;
                ep_word bytes = 0;
                cuPointerGetAttribute(&base, 11, (const void*)(command.to ? command.to : command.word));
                cuPointerGetAttribute(&bytes, 12, base);
                __atomic_store_n(&ep_queue, (EpQueue*)(base + bytes) - 1, __ATOMIC_RELAXED);
              }
              EpQueue* const queue = ep_queue;
              const ep_word index = __atomic_fetch_add(&queue->tail, 1, __ATOMIC_SEQ_CST);
              while (index - __atomic_load_n(&queue->head, __ATOMIC_SEQ_CST) >= 64) ep::pause();
              EpCommand& place = queue->commands[index % 64];
              place = command;
              __atomic_store_n(&place.ready, index + 1, __ATOMIC_SEQ_CST);
              return index + 1;
            }

            static void ep_posted_put_wave(char* to, const char* from, ep_word bytes, int peer) {
              if (ep::lane() == 0) ep_push({0, (ep_word)to, (ep_word)from, bytes, (ep_word)peer, 0, 0, 0});
            }
            static void ep_posted_put_message_wave(char* to, const char* from, ep_word bytes, int peer) { ep_posted_put_wave(to, from, bytes, peer); }
            static void ep_posted_put_signal_wave(char* to, const char* from, ep_word bytes, ep_word* counter, ep_word value, int peer) {
              if (ep::lane() == 0) ep_push({0, (ep_word)to, (ep_word)from, bytes, (ep_word)peer, (ep_word)counter, value, 0});
            }
            static void ep_posted_signal(ep_word* counter, ep_word value, int peer) {
              ep_push({0, 0, 0, 0, (ep_word)peer, (ep_word)counter, value, 0});
            }
            static void ep_posted_quiet() {
              if (!__atomic_load_n(&ep_queue, __ATOMIC_RELAXED)) return;
              const ep_word end = ep_push({0, 0, 0, 0, ~0ull, 0, 0, 0});
              while (__atomic_load_n(&ep_queue->quiet, __ATOMIC_SEQ_CST) < end) ep::pause();
            }
            """).build();

    private final int rank;
    private final int ranks;
    private final long bytes;
    private final long queue;
    private final String mapped;
    /** By rank; memory stays until all ranks have closed it. */
    private final Map<Integer, SharedMemory> all;

    private final Map<Integer, HostMemory> access = new TreeMap<>();
    private final DeviceMemory own;
    private final HostMemory memory;
    private final Random random;
    private final List<Command> pending = new ArrayList<>();
    private final long[][] signalled;
    private long taken;
    private boolean closed;

    /**
     * A write, a word, or a write with a word behind it; offsets are the same in all memories.
     *
     * @param word offset of the word; -1 for none
     */
    private record Command(int peer, long to, long from, long bytes, long word, long value) {}

    /** Returns the bytes that a buffer needs beside its memory. */
    static long behind(int ranks) {
        return (long) COUNTERS * ranks * COUNTER_BYTES + QUEUE_BYTES;
    }

    static long put() {
        return PUT.get();
    }

    /** @param bytes of the memory, which counters follow */
    PostingKernelsBuffer(OpenContext context, String name, long bytes, Map<Integer, SharedMemory> all) {
        this.rank = context.rank();
        this.ranks = context.plan().ranks();
        this.bytes = bytes;
        this.all = Map.copyOf(all);
        this.mapped = PostingKernelsProvider.MAPPED.get(context.config());
        all.forEach((one, shared) -> access.put(one, HostMemory.of(shared.memory())));
        this.own = memory(rank);
        this.memory = access(rank);
        this.queue = own.byteSize() - QUEUE_BYTES;
        this.random = new Random(31L * name.hashCode() + rank);
        this.signalled = new long[ranks][COUNTERS];
        Thread thread = new Thread(this::deliver, "kernels-" + rank + "-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    private DeviceMemory memory(int of) {
        return Optional.ofNullable(all.get(of)).orElseThrow().memory();
    }

    private HostMemory access(int of) {
        return Optional.ofNullable(access.get(of)).orElseThrow();
    }

    private void deliver() {
        while (step()) {
            if (random.nextInt(4) == 0) {
                LockSupport.parkNanos(random.nextInt(400_000));
            }
        }
    }

    /** Executes a part of one command; returns false once the buffer is closed. */
    private boolean step() {
        boolean idle;
        synchronized (this) {
            if (closed) {
                return false;
            }
            take();
            idle = pending.isEmpty();
            if (!idle) {
                execute(next());
            }
        }
        if (idle) {
            LockSupport.parkNanos(200_000);
        }
        return true;
    }

    /** Takes the commands of kernels. */
    private void take() {
        while (true) {
            long at = queue + (1 + taken % COMMANDS) * COMMAND_BYTES;
            if (memory.getLongAcquire(at) != taken + 1) {
                return;
            }
            int peer = (int) memory.getLong(at + 32);
            if (peer < 0) {
                drain();
                memory.putLongRelease(queue + QUIET, taken + 1);
            } else {
                long size = memory.getLong(at + 24);
                PUT.addAndGet(size);
                pending.add(new Command(
                        peer,
                        offset(memory.getLong(at + 8)),
                        offset(memory.getLong(at + 16)),
                        size,
                        offset(memory.getLong(at + 40)),
                        memory.getLong(at + 48)));
            }
            taken++;
            memory.putLongRelease(queue + HEAD, taken);
        }
    }

    private long offset(long address) {
        return address == 0 ? -1 : address - own.address();
    }

    private void drain() {
        while (!pending.isEmpty()) {
            execute(random.nextInt(pending.size()));
        }
    }

    private void execute(int index) {
        Command command = pending.get(index);
        HostMemory peer = access(command.peer());
        if (command.bytes() > 0) {
            long piece = command.bytes() > 16 && random.nextInt(3) == 0
                    ? 16 * (1 + random.nextLong(command.bytes() / 16))
                    : command.bytes();
            long rest = command.bytes() - piece;
            long skipped = random.nextBoolean() ? rest : 0;
            peer.copy(command.to() + skipped, memory, command.from() + skipped, piece);
            long left = skipped == 0 ? piece : 0;
            pending.set(
                    index,
                    new Command(
                            command.peer(),
                            command.to() + left,
                            command.from() + left,
                            rest,
                            command.word(),
                            command.value()));
        } else if (command.word() < 0) {
            pending.remove(index);
        } else if (pending.subList(0, index).stream()
                .noneMatch(earlier -> earlier.peer() == command.peer() && earlier.word() >= 0)) {
            peer.putLongRelease(command.word(), command.value());
            pending.remove(index);
        }
    }

    /** Returns the command to execute: most often a word, which then overtakes writes. */
    private int next() {
        for (int i = 0; i < pending.size() && random.nextInt(4) > 0; i++) {
            if (pending.get(i).bytes() == 0) {
                return i;
            }
        }
        return random.nextInt(pending.size());
    }

    private synchronized void post(Command command) {
        checkOpen();
        pending.add(command);
    }

    private void checkOpen() {
        if (closed) {
            throw new EpStateException("the buffer is closed");
        }
    }

    @Override
    public void put(int peer, long targetOffset, long sourceOffset, long count) {
        post(new Command(peer, targetOffset, sourceOffset, count, -1, 0));
    }

    /** After all that the host has put. */
    @Override
    public synchronized void signal(int peer, int counter, long value) {
        checkOpen();
        if (value > signalled[peer][counter]) {
            signalled[peer][counter] = value;
            drain();
            post(new Command(peer, 0, 0, 0, counterOffset(counter, rank), value));
        }
    }

    private long counterOffset(int counter, int source) {
        return bytes + ((long) counter * ranks + source) * COUNTER_BYTES;
    }

    @Override
    public synchronized long counter(int counter, int source) {
        checkOpen();
        return memory.getLongAcquire(counterOffset(counter, source));
    }

    @Override
    public synchronized void flush(int peer, long deadlineNanos) {
        checkOpen();
        take();
        drain();
    }

    @Override
    public DeviceMemory local() {
        return own.slice(0, bytes);
    }

    @Override
    public DeviceMemory counters() {
        return own.slice(bytes, (long) COUNTERS * ranks * COUNTER_BYTES);
    }

    @Override
    public DeviceCode code() {
        return CODE;
    }

    @Override
    public int peerNumber(int peer) {
        return peer;
    }

    /** GPUs reach each other's memory by the same addresses. */
    @Override
    public OptionalLong mappedOffset(int peer) {
        return PostingKernelsProvider.isIn(mapped, Integer.toString(rank), Integer.toString(peer))
                ? OptionalLong.of(memory(peer).address() - own.address())
                : OptionalLong.empty();
    }

    @Override
    public void attach(long module) {
        // The library needs no preparation.
    }

    @Override
    public void detach(long module) {
        // It keeps nothing of a module.
    }

    /** Drops the commands that were not executed. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            all.values().forEach(SharedMemory::close);
        }
    }
}
