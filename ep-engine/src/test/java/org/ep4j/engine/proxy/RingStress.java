package org.ep4j.engine.proxy;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** What producers and the consumer of a ring may see of each other. Run by {@link RingStressTest}. */
public final class RingStress {
    private RingStress() {}

    /** Who sees the phase sees the whole command. */
    @JCStressTest
    @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "not there yet")
    @Outcome(id = "42", expect = Expect.ACCEPTABLE, desc = "the command")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of it")
    @State
    public static class Visible {
        private final CommandRing ring = StressRings.ring(StressRings.next());

        @Actor
        public void produce() {
            ring.put(0, 42, Commands.advanceWord1(1, 2));
        }

        @Actor
        public void consume(I_Result r) {
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
            r.r1 = sum.value;
        }
    }

    /** The same in the second lap, where the place holds an older command with the other phase. */
    @JCStressTest
    @Outcome(id = "-1", expect = Expect.ACCEPTABLE, desc = "not there yet")
    @Outcome(id = "42", expect = Expect.ACCEPTABLE, desc = "the command")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a part of it, or the older one")
    @State
    public static class VisibleInTheSecondLap {
        private final CommandRing ring = StressRings.ring(StressRings.next());

        public VisibleInTheSecondLap() {
            ring.put(0, 7, Commands.advanceWord1(1, 2));
            ring.put(1, 8, Commands.advanceWord1(1, 2));
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
        }

        @Actor
        public void produce() {
            ring.put(2, 42, Commands.advanceWord1(1, 2));
        }

        @Actor
        public void consume(I_Result r) {
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
            r.r1 = sum.value;
        }
    }

    /** A place is written again only when what it held was read: the tail says so. */
    @JCStressTest
    @Outcome(id = "0, 21, -1", expect = Expect.ACCEPTABLE, desc = "the ring was full")
    @Outcome(id = "1, 21, 400", expect = Expect.ACCEPTABLE, desc = "the third command came after the two")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a command is lost, or comes twice")
    @State
    public static class Full {
        private final CommandRing ring = StressRings.ring(StressRings.next());
        private final CommandProducer producer = new CommandProducer(ring);

        public Full() {
            producer.advance(1, 2, 10);
            producer.advance(1, 2, 11);
        }

        @Actor
        public void produce(III_Result r) {
            r.r1 = producer.advance(1, 2, 400) ? 1 : 0;
        }

        @Actor
        public void consume(III_Result r) {
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
            r.r2 = sum.value;
        }

        @Arbiter
        public void rest(III_Result r) {
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
            r.r3 = sum.value;
        }
    }

    /** Two producers have a place each, and what they put comes whole. */
    @JCStressTest
    @Outcome(id = "300", expect = Expect.ACCEPTABLE, desc = "both commands")
    @Outcome(expect = Expect.FORBIDDEN, desc = "a command is lost, or comes twice")
    @State
    public static class TwoProducers {
        private final CommandRing ring = StressRings.ring(StressRings.next());
        private final CommandProducer producer = new CommandProducer(ring);

        @Actor
        public void one() {
            producer.advance(1, 2, 100);
        }

        @Actor
        public void other() {
            producer.advance(1, 2, 200);
        }

        @Arbiter
        public void consume(I_Result r) {
            StressRings.Sum sum = new StressRings.Sum();
            ring.take(0, 2, sum, sum);
            r.r1 = sum.value;
        }
    }
}
