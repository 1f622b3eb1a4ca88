package org.ep4j.backend.efa;

import java.util.Arrays;
import java.util.function.IntFunction;
import org.ep4j.spi.HostPosted;
import org.jspecify.annotations.Nullable;

/**
 * The open buffers of this rank by their numbers, by which records name them. A number is given once, so that what comes late
 * cannot reach a younger buffer. Safe for use from several threads.
 */
final class Buffers {
    private volatile @Nullable EfaMemory[] open = new EfaMemory[0];

    /** Makes the memory of a buffer that has a number. */
    synchronized EfaMemory add(IntFunction<EfaMemory> make) {
        EfaMemory made = make.apply(open.length);
        @Nullable EfaMemory[] more = Arrays.copyOf(open, open.length + 1);
        more[made.number()] = made;
        open = more;
        return made;
    }

    synchronized void remove(int number) {
        @Nullable EfaMemory[] less = open.clone();
        less[number] = null;
        open = less;
    }

    /** For what comes from one source. What concerns a buffer that is closed is forgotten. */
    Arrivals.Sink from(int source) {
        return new Arrivals.Sink() {
            @Override
            public void advance(int buffer, int counter, long value) {
                EfaMemory memory = find(buffer);
                if (memory != null && counter >= 0 && counter < HostPosted.COUNTERS) {
                    memory.advance(source, counter, value);
                }
            }

            @Override
            public void closed(int buffer) {
                EfaMemory memory = find(buffer);
                if (memory != null) {
                    memory.close(source);
                }
            }
        };
    }

    private @Nullable EfaMemory find(int number) {
        @Nullable EfaMemory[] now = open;
        return number >= 0 && number < now.length ? now[number] : null;
    }
}
