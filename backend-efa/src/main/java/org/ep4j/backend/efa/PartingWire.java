package org.ep4j.backend.efa;

import java.time.Duration;
import org.ep4j.transport.Pause;

/**
 * Endpoints that may close only where nothing more comes in and nothing lies unread. As an endpoint of ofi_rxm over verbs
 * (libfabric 1.17) closes, or hears that its peer has closed, it gives what came unread back to a connection that it has freed,
 * and the process ends by SIGSEGV. So both ends say goodbye on every rail, each says that it has heard the other's, and an end
 * closes when its own goodbye was heard: then the peer has read everything but that, and nothing follows it here. Needs rails
 * that keep the order of what is posted to them, as this provider does.
 *
 * <p>Where the peer does not answer in time, and its connection has not failed either, the endpoints stay open until the process
 * ends, and nobody polls them.
 */
final class PartingWire implements Wire {
    /** Slots of an endpoint that its writes take, after {@link NicProfile#slots}. */
    static final int SLOTS = 2;

    /** Numbers of {@link Immediate#CUT}, which a link reads as what it also is: the end. */
    private static final int GOODBYE = 1;

    private static final int HEARD = 2;

    /** A connection that has failed is empty when so many polls in a row have found nothing, for so long. */
    private static final int EMPTY_POLLS = 4096;

    private static final long EMPTY_NANOS = 50_000_000;

    private static final System.Logger LOGGER = System.getLogger(PartingWire.class.getName());

    /** Posts a write whose immediate alone matters. */
    interface Bare {
        /** Gives 0, or a negated error number. */
        int write(int rail, int slot, int immediate);
    }

    private final Wire wire;
    private final Bare bare;
    private final Rail[] rails;
    private final Duration patience;
    private final Runnable parted;

    /** What is known of one rail. */
    private static final class Rail {
        private final int slot;
        private int under;
        private boolean goodbye;
        private boolean heard;
        private boolean failed;
        private boolean said;
        private boolean answered;
        private int emptyPolls;
        private long emptySince;

        Rail(int slot) {
            this.slot = slot;
        }

        /** A poll of the closing has found so many. */
        void polled(int count) {
            if (count != 0 || emptyPolls == 0) {
                emptyPolls = 0;
                emptySince = System.nanoTime();
            }
            if (count == 0) {
                emptyPolls++;
            }
        }

        boolean isParted() {
            return failed
                    ? emptyPolls >= EMPTY_POLLS && System.nanoTime() - emptySince >= EMPTY_NANOS
                    : said && answered && heard && under == 0;
        }
    }

    /**
     * Over endpoints.
     *
     * @param slots by rail, the first of {@link #SLOTS}
     * @param patience how long the peer may take to answer
     * @param parted gets a notice before {@code wire} closes, where its endpoints may
     */
    PartingWire(Wire wire, Bare bare, int[] slots, Duration patience, Runnable parted) {
        this.wire = wire;
        this.bare = bare;
        this.rails = new Rail[slots.length];
        for (int r = 0; r < slots.length; r++) {
            rails[r] = new Rail(slots[r]);
        }
        this.patience = patience;
        this.parted = parted;
    }

    @Override
    public int write(
            int rail, long remote, long key, long local, long descriptor, long length, int slot, int immediate) {
        int result = wire.write(rail, remote, key, local, descriptor, length, slot, immediate);
        if (result == 0) {
            rails[rail].under++;
        }
        return result;
    }

    @Override
    public int poll(int rail, Completions into) {
        int count = wire.poll(rail, into);
        Rail of = rails[rail];
        of.failed |= count < 0;
        for (int i = 0; i < count; i++) {
            switch (into.kind(i)) {
                case Completions.SENT -> of.under--;
                case Completions.CAME -> {
                    of.goodbye |= into.immediate(i) == Immediate.of(Immediate.CUT, GOODBYE);
                    of.heard |= into.immediate(i) == Immediate.of(Immediate.CUT, HEARD);
                }
                default -> of.failed = true;
            }
        }
        return count;
    }

    @Override
    public String failure(int rail) {
        return wire.failure(rail);
    }

    @Override
    public String error(int error) {
        return wire.error(error);
    }

    /** Waits for the peer to say goodbye, too, but not for long. */
    @Override
    public void close() {
        Completions into = new Completions(64);
        long end = System.nanoTime() + patience.toNanos();
        boolean open = true;
        boolean late = false;
        // The last poll is made after the deadline: a thread that got no processor until then has not polled yet.
        for (int tries = 0; open && !late; tries++) {
            late = end - System.nanoTime() <= 0;
            open = false;
            boolean moved = false;
            for (int r = 0; r < rails.length; r++) {
                say(r);
                int count = poll(r, into);
                rails[r].polled(count);
                moved |= count > 0 || rails[r].failed;
                open |= !rails[r].isParted();
            }
            if (!moved) {
                Pause.after(tries);
            }
        }
        if (open) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "a peer did not answer within {0} ms of closing: endpoints of libfabric stay open until the process"
                            + " ends, because this provider cannot close them safely before the peer answers;"
                            + " check that the process of the peer runs",
                    patience.toMillis());
        } else {
            parted.run();
        }
        wire.close();
    }

    private void say(int r) {
        Rail rail = rails[r];
        if (!rail.failed && !rail.said) {
            rail.said = post(r, rail.slot, GOODBYE);
        }
        if (!rail.failed && rail.said && rail.goodbye && !rail.answered) {
            rail.answered = post(r, rail.slot + 1, HEARD);
        }
    }

    private boolean post(int r, int slot, int number) {
        int result = bare.write(r, slot, Immediate.of(Immediate.CUT, number));
        if (result == 0) {
            rails[r].under++;
        } else if (result != -FabricError.EAGAIN) {
            rails[r].failed = true;
        }
        return result == 0;
    }
}
