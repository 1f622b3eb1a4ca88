package org.ep4j.engine.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.jna.LastErrorException;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.ep4j.transport.memory.NativeMethods;
import org.ep4j.transport.memory.NativeRecord;

/** Binds the calling thread to the processors of a NUMA node. */
final class NumaBinding {
    /** Bytes of a set of processors, 8192 of them. */
    private static final int SET_BYTES = 1024;

    /** The two calls of the C library, by which a thread reads and sets its own processors. */
    private static final class Calls {
        Calls() {
            NativeMethods.bindToC(Calls.class);
        }

        native int sched_getaffinity(int thread, long bytes, long set) throws LastErrorException;

        native int sched_setaffinity(int thread, long bytes, long set) throws LastErrorException;
    }

    private NumaBinding() {}

    /** Why that was not possible; the thread then runs where it did. */
    static Optional<String> bind(int node) {
        Path list = Path.of("/sys/devices/system/node/node" + node + "/cpulist");
        NativeRecord set = new NativeRecord(SET_BYTES);
        try {
            BitSet wanted = numbers(Files.readString(list, UTF_8));
            Calls calls = new Calls();
            calls.sched_getaffinity(0, SET_BYTES, set.address());
            BitSet allowed = BitSet.valueOf(set.buffer());
            wanted.and(allowed);
            if (wanted.isEmpty()) {
                return Optional.of(
                        "this process is not allowed to use any processor of that node, only processors " + allowed);
            }
            byte[] bytes = wanted.toByteArray();
            set.buffer().put(0, new byte[SET_BYTES]).put(0, bytes);
            calls.sched_setaffinity(0, SET_BYTES, set.address());
            return Optional.empty();
        } catch (IOException | NumberFormatException e) {
            return Optional.of(list + " cannot be read: " + e);
        } catch (LastErrorException e) {
            return Optional.of("the kernel refused the binding: errno " + e.getErrorCode() + ", " + e.getMessage());
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
