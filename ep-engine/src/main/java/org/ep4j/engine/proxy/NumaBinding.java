package org.ep4j.engine.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.jna.LastErrorException;
import com.sun.jna.Native;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.engine.memory.NativeRecord;

/** Processors of NUMA nodes for threads. */
public final class NumaBinding {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    static final Path NODES = Path.of("/sys/devices/system/node");

    /** Bytes of a set of processors, 8192 of them. */
    private static final int SET_BYTES = 1024;

    /** The two calls of the C library, by which a thread reads and sets its own processors. */
    private static final class Calls {
        Calls() {
            Native.register(Calls.class, "c");
        }

        native int sched_getaffinity(int thread, long bytes, long set) throws LastErrorException;

        native int sched_setaffinity(int thread, long bytes, long set) throws LastErrorException;
    }

    private NumaBinding() {}

    /**
     * Binds the calling thread to the processors of a node that the process may use.
     *
     * @param nodes folder of nodes, as sysfs has it
     * @param threads that are to share them: on fewer processors they would be in each other's way
     * @return why that was not done; the thread then runs where it did
     */
    static Optional<String> bind(Path nodes, int node, int threads) {
        Path list = nodes.resolve("node" + node).resolve("cpulist");
        try {
            Calls calls = new Calls();
            BitSet wanted = numbers(Files.readString(list, UTF_8));
            BitSet allowed = get(calls);
            wanted.and(allowed);
            if (wanted.isEmpty()) {
                return Optional.of("this process may use none of its processors, only " + allowed);
            }
            if (wanted.cardinality() < threads) {
                return Optional.of("this process may use " + wanted.cardinality() + " of its processors, and " + threads
                        + " threads are to share them");
            }
            set(calls, wanted);
            return Optional.empty();
        } catch (IOException | NumberFormatException e) {
            return Optional.of(list + " cannot be read: " + e);
        } catch (LastErrorException e) {
            return Optional.of("the kernel refused it: errno " + e.getErrorCode() + ", " + e.getMessage());
        }
    }

    /**
     * Does something on the processors of a node, where the kernel then takes memory from that is allocated meanwhile, and returns
     * to those from before; anywhere where the process may not use them or the node is not known.
     */
    public static <T> T near(Optional<Integer> node, Supplier<T> work) {
        return near(NODES, node, work);
    }

    static <T> T near(Path nodes, Optional<Integer> node, Supplier<T> work) {
        if (node.isEmpty()) {
            return work.get();
        }
        BitSet before;
        try {
            before = get(new Calls());
        } catch (LastErrorException e) {
            return work.get();
        }
        Optional<String> obstacle = bind(nodes, node.get(), 1);
        obstacle.ifPresent(why -> LOG.log(
                System.Logger.Level.DEBUG,
                "memory of the host is taken on any processor, not on those of NUMA node {0}: {1}",
                node.get(),
                why));
        try {
            return work.get();
        } finally {
            if (obstacle.isEmpty()) {
                set(new Calls(), before);
            }
        }
    }

    private static BitSet get(Calls calls) {
        NativeRecord set = new NativeRecord(SET_BYTES);
        try {
            calls.sched_getaffinity(0, SET_BYTES, set.address());
            return BitSet.valueOf(set.buffer());
        } finally {
            Reference.reachabilityFence(set);
        }
    }

    private static void set(Calls calls, BitSet processors) {
        NativeRecord set = new NativeRecord(SET_BYTES);
        try {
            set.buffer().put(0, processors.toByteArray());
            calls.sched_setaffinity(0, SET_BYTES, set.address());
        } finally {
            Reference.reachabilityFence(set);
        }
    }

    /** Reads {@code 0-3,8}. */
    static BitSet numbers(String list) {
        BitSet numbers = new BitSet();
        for (String range : List.of(list.strip().split(",", -1))) {
            int dash = range.indexOf('-');
            int first = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
            int last = dash < 0 ? first : Integer.parseInt(range.substring(dash + 1));
            if (first < 0 || last < first || last >= 8 * SET_BYTES) {
                throw new NumberFormatException(range);
            }
            numbers.set(first, last + 1);
        }
        return numbers;
    }
}
