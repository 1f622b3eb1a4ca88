package org.ep4j.engine.proxy;

import org.ep4j.transport.memory.HostMemory;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * Rings that are wrong on purpose, so that it is known that {@link RingStress} would find it. A plain store in the place of the
 * release store is not among them: x86 keeps stores in order, and the compiler has kept these so; what weaker processors
 * would make of it, word 1 before word 0, is.
 */
public final class MutantRingStress {
    private MutantRingStress() {}

    private static long place(long offset) {
        return offset + CommandRing.COMMANDS;
    }

    /** Word 1 becomes visible before word 0. */
    @JCStressTest
    @Outcome(
            id = {"-1", "42"},
            expect = Expect.ACCEPTABLE,
            desc = "as it should be")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of the command")
    @State
    public static class WordsInTheOtherOrder {
        private final long offset = StressRings.next();
        private final CommandRing ring = StressRings.ring(offset);

        @Actor
        public void produce() {
            HostMemory words = StressRings.memory().words();
            words.putLongRelease(place(offset) + 8, Commands.advanceWord1(1, 2) | Long.MIN_VALUE);
            words.putLongRelease(place(offset), 42);
        }

        @Actor
        public void consume(I_Result r) {
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
            r.r1 = sum.value;
        }
    }

    /** The consumer does not look at the phase, only at whether there is a command: in the second lap there always is. */
    @JCStressTest
    @Outcome(
            id = {"-1", "42"},
            expect = Expect.ACCEPTABLE,
            desc = "as it should be")
    @Outcome(expect = Expect.FORBIDDEN, desc = "the command of the lap before")
    @State
    public static class PhaseIgnored {
        private final long offset = StressRings.next();
        private final CommandRing ring = StressRings.ring(offset);

        public PhaseIgnored() {
            ring.put(0, 7, Commands.advanceWord1(1, 2));
        }

        @Actor
        public void produce() {
            ring.put(2, 42, Commands.advanceWord1(1, 2));
        }

        @Actor
        public void consume(I_Result r) {
            HostMemory words = StressRings.memory().words();
            long word1 = words.getLongAcquire(place(offset) + 8);
            r.r1 = Command.kind(word1) == 0 ? -1 : (int) words.getLong(place(offset));
        }
    }

    /** The tail is advanced before the command was read. */
    @JCStressTest
    @Outcome(
            id = {"0, 10", "1, 10"},
            expect = Expect.ACCEPTABLE,
            desc = "as it should be")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a command was overwritten")
    @State
    public static class TailTooEarly {
        private final long offset = StressRings.next();
        private final CommandRing ring = StressRings.ring(offset);
        private final CommandProducer producer = new CommandProducer(ring);

        public TailTooEarly() {
            producer.advance(1, 2, 10);
            producer.advance(1, 2, 11);
        }

        @Actor
        public void produce(II_Result r) {
            r.r1 = producer.advance(1, 2, 400) ? 1 : 0;
        }

        @Actor
        public void consume(II_Result r) {
            HostMemory words = StressRings.memory().words();
            words.putLongRelease(offset + CommandRing.TAIL, 2);
            r.r2 = (int) words.getLongAcquire(place(offset));
        }
    }
}
