package org.ep4j.engine.proxy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.transport.memory.WordMemory;

/**
 * What taking a command costs a proxy thread: rings are filled, then taken from in turn, as the thread does it. With few rings
 * the commands lie in the nearest cache; with hundreds they come from far, as those of a GPU do. A program and no test, since
 * times on a shared machine prove nothing. Each pass is timed alone, so that the best ones are good on a machine that is not
 * quiet.
 */
public final class TakeCost {
    private static final int COMMANDS = 2048;

    /** Passes for which the code is compiled, of those that are made. */
    private static final double WARM_UP = 0.25;

    /** Adds up, as a thread of a real sink has something to do with each field. */
    private static final class Sum implements CommandSink {
        private long value;

        @Override
        public void write(int ring, int peer, long target, long source, long bytes) {
            value += target + 3 * source + 5 * bytes + 7L * peer;
        }

        @Override
        public void advance(int ring, int peer, int counter, long added) {
            value += 11 * added + 13L * counter + 17L * peer;
        }
    }

    private TakeCost() {}

    /**
     * Prints nanoseconds of a command: of the best pass, of the one behind a tenth of them, and of the median.
     *
     * @param args rings (4 when absent) and passes (4000 when absent)
     */
    public static void main(String[] args) {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 4;
        int passes = args.length > 1 ? Integer.parseInt(args[1]) : 4000;
        long bytes = CommandRing.bytes(COMMANDS);
        WordMemory memory = WordMemory.allocate(count * bytes);
        List<CommandRing> rings = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rings.add(new CommandRing(memory.words(), i * bytes, COMMANDS));
        }
        Sum sum = new Sum();
        double[] nanos = IntStream.range(0, passes)
                .mapToDouble(pass -> pass(rings, (long) pass * COMMANDS, sum))
                .skip((long) (passes * WARM_UP))
                .toArray();
        Arrays.sort(nanos);
        System.out.printf(
                "%d rings: %.2f, %.2f, %.2f ns a command (sum %x)%n",
                count, nanos[0], nanos[nanos.length / 10], nanos[nanos.length / 2], sum.value);
    }

    private static double pass(List<CommandRing> rings, long first, Sum sum) {
        for (CommandRing ring : rings) {
            for (long i = first; i < first + COMMANDS; i++) {
                put(ring, i);
            }
        }
        long left = (long) rings.size() * COMMANDS;
        long start = System.nanoTime();
        while (left > 0) {
            for (int i = 0; i < rings.size(); i++) {
                left -= rings.get(i).take(i, ProxyThreads.BATCH, sum, Rings.noFailures());
            }
        }
        return (double) (System.nanoTime() - start) / rings.size() / COMMANDS;
    }

    private static void put(CommandRing ring, long number) {
        int peer = (int) number & 63;
        if (number % 8 == 7) {
            ring.put(number, number, Commands.advanceWord1(peer, (int) number & 31));
        } else {
            long units = number & 0xffffff;
            ring.put(
                    number,
                    Commands.writeWord0(units * 16L, (1 + (number & 1023)) * 16L),
                    Commands.writeWord1(peer, units * 16L));
        }
    }
}
