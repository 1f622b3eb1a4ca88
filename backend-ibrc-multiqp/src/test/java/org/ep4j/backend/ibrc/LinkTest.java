package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.posted.PostedMemory;
import org.ep4j.transport.posted.PostedPeer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A link over three rails whose requests are executed at once, and whose completions the test makes. */
@Tag("verify")
class LinkTest {
    private static final int RAILS = 3;
    private static final List<Integer> KEYS = List.of(0);
    private static final int COUNTER = 3;
    private static final int LATER_RAIL = 2;

    /** {@code IBV_WC_REM_ACCESS_ERR}, after which no other port is tried. */
    private static final int REMOTE_ACCESS = 10;

    private final HostDevice device = new HostDevice();
    private final List<DeviceAllocation> allocations = new ArrayList<>();
    private final Words words = new Words(RAILS, RAILS);
    private final LinkMemory.Layout layout = new LinkMemory.Layout(2, words.bytes());
    private final long[] control = {allocate(layout.bytes()), allocate(layout.bytes())};
    private final long[] counters = {allocate(IbrcMemory.bytes(2)), allocate(IbrcMemory.bytes(2))};
    private final long[] data = {allocate(4096), allocate(4096)};
    private final ScriptedWire wire = new ScriptedWire();
    private final Link link = link();
    private final IbrcMemory memory = memory("host");
    private final IbrcMemory gpuMemory = memory("cuda:0");

    private long allocate(long bytes) {
        DeviceAllocation allocation = device.allocate(bytes);
        allocations.add(allocation);
        return allocation.memory().address();
    }

    private IbrcMemory memory(String device) {
        HostMemory own = FakeFabric.memory(counters[0], IbrcMemory.bytes(2));
        IbrcMemory made = new IbrcMemory(
                ExposedMemory.of(DeviceMemory.of(data[0], 4096, Device.parse(device))),
                2,
                new PostedMemory.Registrations(),
                new Buffers.Counted(own, new AtomicLongArray(2)),
                new IbrcMemory.LocalKeys(KEYS, KEYS),
                key(0),
                true,
                List.of(link));
        made.keys(List.of(IbrcMemory.Key.CODEC.encode(key(0)), IbrcMemory.Key.CODEC.encode(key(1))));
        return made;
    }

    private IbrcMemory.Key key(int rank) {
        return new IbrcMemory.Key(0, new Region.Remote(data[rank], KEYS), new Region.Remote(counters[rank], KEYS));
    }

    private Link link() {
        LinkSettings settings = new LinkSettings(128, 4, Guard.minute());
        List<Lane> lanes = new ArrayList<>();
        NicFlow nic = new NicFlow(FlowLimits.NONE);
        for (int lane = 0; lane < RAILS; lane++) {
            Lane.Ends ends = new Lane.Ends(lane, 0, 0, 64, 0, 16, 1000, "nic-" + lane, "port-" + lane);
            lanes.add(new Lane(lane, lane, ends, nic, settings));
        }
        HostMemory local = FakeFabric.memory(control[0], layout.bytes());
        local.putLong(layout.one(), 1);
        Region region = new Region(control[0], true, new int[1], control, new int[2][1]);
        LinkMemory shared = new LinkMemory(words, layout, region, local, 0, 1, (buffer, source, counter, delta) -> {});
        return new Link(
                new PostedPeer(1, 1, "rank 1", failure()),
                shared,
                settings,
                true,
                new Lanes(lanes, 0, settings),
                RAILS,
                wire);
    }

    private static EpFailure failure() {
        return EpFailure.builder("host-posted writes", 1).host("b").build();
    }

    @Test
    void waitsForTheLockThenFlushesUntilTheSameDeadline() {
        link.put(memory, 0, 2048, 8, false, Link.NO_CHECK);
        AtomicReference<Deadline> deadline = new AtomicReference<>(Deadline.in(Guard.minute()));
        AtomicInteger polls = new AtomicInteger();
        wire.onPoll = () -> {
            polls.incrementAndGet();
            Guard.until("the deadline has passed", () -> deadline.get().passed());
        };
        FutureTask<Boolean> flush = new FutureTask<>(() -> {
            deadline.set(Deadline.in(Guard.minute().dividedBy(30)));
            link.flush(deadline.get(), Link.NO_CHECK);
            return true;
        });
        Thread flushing = new Thread(flush);
        link.hold(() -> {
            flushing.start();
            Guard.until("the other thread waits for the lock", () -> flushing.getState() == Thread.State.TIMED_WAITING);
        });
        assertThatThrownBy(() -> flush.get(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("rank 1 accepted no data before the deadline");
        assertThat(polls).as("until the deadline, and once more").hasValue(2);
    }

    @Test
    void isNotIdleWhileAnotherThreadUsesTheLink() {
        link.hold(() ->
                assertThat(CompletableFuture.supplyAsync(link::isIdle).join()).isFalse());
        assertThat(link.isIdle()).isTrue();
    }

    @AfterEach
    void free() {
        allocations.forEach(DeviceAllocation::close);
    }

    /** The peer has stopped a rail too. */
    private void peerStops(int rail) {
        FakeFabric.memory(control[0], layout.bytes()).putLongRelease(layout.stride() + words.stopped(rail), 1);
    }

    private final class ScriptedWire implements Wire {
        private record Done(long id, int status) {}

        private final Deque<Done> completions = new ArrayDeque<>();
        private final List<Integer> stopped = new ArrayList<>();
        private final List<Boolean> inline = new ArrayList<>();
        private boolean broken;
        private boolean refusing;
        private Runnable onPoll = () -> {};
        private boolean laterRailFailed;

        @Override
        public int post(SendQueue.Batch batch, int from, int to) {
            if (refusing) {
                completions.add(new Done(batch.id(from), Completions.RETRIES_EXCEEDED));
                batch.error().set(0, Errno.EINVAL);
                return from;
            }
            for (int i = from; i < to; i++) {
                execute(batch, i);
            }
            return to;
        }

        private void execute(SendQueue.Batch batch, int i) {
            long remote = batch.remote(i);
            if (batch.opcode(i) == SendQueue.WRITE) {
                inline.add((batch.flags(i) & SendQueue.INLINE) != 0);
            }
            switch (batch.opcode(i)) {
                case SendQueue.ADD -> {
                    HostMemory word = FakeFabric.memory(remote, 8);
                    word.putLong(0, word.getLong(0) + batch.added(i));
                }
                case SendQueue.READ ->
                    FakeFabric.memory(batch.local(i), batch.length(i))
                            .copy(0, FakeFabric.memory(remote, batch.length(i)), 0, batch.length(i));
                default -> {}
            }
            // The other lanes never hear of what was executed.
            if (batch.lane(i) == 1) {
                completions.add(new Done(batch.id(i), 0));
            }
            if (batch.opcode(i) == SendQueue.READ && !laterRailFailed) {
                laterRailFailed = true;
                fail(LATER_RAIL);
            }
        }

        void fail(int rail) {
            completions.add(new Done(Completions.sendId(rail, 0), Completions.RETRIES_EXCEEDED));
            peerStops(rail);
        }

        @Override
        public int poll(Completions into, int polls) {
            onPoll.run();
            if (broken) {
                throw new EpException("ibv_poll_cq failed: error 5 (made up)");
            }
            int count = 0;
            for (; !completions.isEmpty(); count++) {
                Done done = completions.remove();
                into.set(count, done.id(), done.status(), 0, 0);
            }
            return count;
        }

        @Override
        public void stop(int lane) {
            stopped.add(lane);
        }

        @Override
        public int postReceives(int lane, int count) {
            return count;
        }

        @Override
        public String status(int status) {
            return "made up";
        }

        @Override
        public String error(int error) {
            return "error " + error;
        }
    }

    /** The processor copies what travels inline, and reads no memory of GPUs. */
    @Test
    void nothingOfAGpuTravelsInline() {
        link.put(memory, 0, 2048, 16, false, Link.NO_CHECK);
        link.put(gpuMemory, 0, 2048, 16, false, Link.NO_CHECK);
        link.put(memory, 0, 2048, 17, false, Link.NO_CHECK);
        link.signal(memory, COUNTER, 1, Link.NO_CHECK);
        assertThat(wire.inline).containsExactly(true, false, false);
    }

    @Test
    void aRailThatFailsWhileWordsAreReadForAnotherChangesNothingOfWhatIsReadForThat() {
        link.signal(memory, COUNTER, 1, Link.NO_CHECK);
        link.put(memory, 0, 2048, 1024, false, Link.NO_CHECK);
        link.signal(memory, COUNTER, 2, Link.NO_CHECK);
        wire.fail(0);
        link.flush(Deadline.in(Guard.minute()), Link.NO_CHECK);
        assertThat(link.traffic().failovers()).isEqualTo(2);
        assertThat(link.traffic().lanes()).extracting(EpTraffic.Lane::alive).containsExactly(false, true, false);
        assertThat(link.nextWarning().orElseThrow())
                .contains("rank 1", "port-0 is given up", "2 other pairs", "status 12 (made up)");
        assertThat(link.nextWarning().orElseThrow()).contains("port-2 is given up", "1 other pairs");
        assertThat(link.nextWarning()).isEmpty();
        long there = FakeFabric.memory(counters[1], 2L * LinkMemory.COUNTERS).getLong(8L * COUNTER);
        assertThat(there).isEqualTo(2);
    }

    /** A rail may become active again, and requests in flight continue then. */
    @Test
    void theLastRailIsKeptWhenItsPortGoesDown() {
        link.portDown(0, "the cable is out");
        assertThat(link.isLost()).isFalse();
        assertThat(link.traffic().lanes()).extracting(EpTraffic.Lane::alive).containsExactly(false, false, true);
        assertThat(link.nextWarning().orElseThrow()).contains("port-0 is given up", "2 other pairs");
        assertThat(link.nextWarning().orElseThrow()).contains("port-1 is given up", "1 other pairs");
        assertThat(link.nextWarning().orElseThrow())
                .contains("port-2 is down, and no other pair of ports is left", "the cable is out");
    }

    @Test
    void aLinkWithoutCompletionsIsLostForWhoeverUsesIt() {
        wire.broken = true;
        assertThat(link.tryProgress()).isTrue();
        assertThatThrownBy(() -> link.put(memory, 0, 2048, 8, false, Link.NO_CHECK))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("ibv_poll_cq failed: error 5");
    }

    /** The threads that look at counters only ask why the link is lost; none of them polls. */
    @Test
    void theCompletionSaysWhyALaneRefusesAndNotTheRefusal() {
        wire.refusing = true;
        link.put(memory, 0, 2048, 8, false, Link.NO_CHECK);
        for (int i = 0; i < 100 && !link.isLost(); i++) {
            link.tryProgress();
        }
        assertThat(link.isLost()).isTrue();
        assertThat(link.lostNow())
                .hasMessageContainingAll("port-0", "port-1", "port-2", "no other port is left", "status 12 (made up)")
                .hasMessageNotContaining("took no request");
        EpFailure failure = link.lostNow().failure();
        assertThat(failure.phase()).isEqualTo("host-posted writes");
        assertThat(failure.peer()).isEqualTo(1);
        assertThat(failure.host()).isEqualTo("b");
        assertThat(failure.nic()).hasValueSatisfying(nic -> assertThat(nic).startsWith("nic-"));
        assertThat(failure.nativeStatus()).hasValue(Completions.RETRIES_EXCEEDED);
        assertThat(failure.nativeStatusName()).isEqualTo("made up");
    }

    private void loses(String reason) {
        assertThat(link.isLost()).isTrue();
        assertThat(link.lostNow()).hasMessageContaining("rank 1 cannot be reached: " + reason);
        assertThat(link.lostNow().failure()).isEqualTo(failure());
    }

    /** Of the NIC that has failed, whose traffic others have taken over, a later loss says nothing. */
    @Test
    void aLossHasTheValuesOfItsOwnReasonAfterAFailover() {
        givesUpRail(0);
        wire.broken = true;
        link.tryProgress();
        loses("ibv_poll_cq failed");
    }

    @Test
    void aPeerThatIsLeftOutIsLostByNoNicAfterAFailover() {
        givesUpRail(0);
        link.end("this rank has left it out");
        loses("this rank has left it out");
    }

    /** What the NIC says of it is a consequence. */
    @Test
    void aPeerThatHasLeftIsLostByNoNic() {
        wire.completions.add(new ScriptedWire.Done(Completions.sendId(0, 0), REMOTE_ACCESS));
        link.peerGone("it has left the group");
        loses("it has left the group");
    }

    private void givesUpRail(int rail) {
        wire.laterRailFailed = true;
        wire.fail(rail);
        link.tryProgress();
        assertThat(link.isLost()).isFalse();
        assertThat(link.traffic().failovers()).isEqualTo(1);
    }

    @Test
    void aLossHasTheStatusOfTheLastRailAndNoLaterOne() {
        for (int rail = 0; rail < RAILS; rail++) {
            wire.fail(rail);
        }
        wire.completions.add(new ScriptedWire.Done(Completions.sendId(0, 0), REMOTE_ACCESS));
        link.tryProgress();
        assertThat(link.lostNow())
                .hasMessageContaining("rank 1 cannot be reached: no other port is left")
                .hasMessageNotContaining("status " + REMOTE_ACCESS);
        assertThat(link.lostNow().failure())
                .isEqualTo(failure().toBuilder()
                        .nic("nic-2")
                        .nativeStatus(Completions.RETRIES_EXCEEDED, "made up")
                        .build());
    }

    @Test
    void trafficIsToldWhileAThreadWaitsForThePeer() throws InterruptedException {
        CountDownLatch polls = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        wire.onPoll = () -> {
            polls.countDown();
            awaitQuietly(ended);
        };
        Thread waiting = new Thread(() -> link.tryProgress());
        waiting.start();
        try {
            awaitQuietly(polls);
            assertThat(CompletableFuture.supplyAsync(link::traffic)).succeedsWithin(Guard.minute());
        } finally {
            ended.countDown();
            waiting.join();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            assertThat(latch.await(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void aLinkThatIsEndedStopsItsQueuePairsAndWhoeverWaits() {
        CountDownLatch polls = new CountDownLatch(1);
        wire.onPoll = polls::countDown;
        link.put(memory, 0, 2048, 8, false, Link.NO_CHECK);
        CompletableFuture<Void> waiting =
                CompletableFuture.runAsync(() -> link.flush(Deadline.in(Duration.ofMinutes(5)), Link.NO_CHECK));
        awaitQuietly(polls);
        link.end("this rank has left it out");
        assertThat(wire.stopped).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(waiting)
                .failsWithin(Guard.minute())
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(EpPeerLostException.class)
                .withMessageContaining("this rank has left it out");
    }

    @Test
    void aBufferThatIsClosedCountsNothing() {
        HostMemory memory = FakeFabric.memory(counters[0], 2L * LinkMemory.COUNTERS);
        Buffers buffers = new Buffers();
        Buffers.Counted counted = new Buffers.Counted(memory, new AtomicLongArray(2));
        int number = buffers.add(counted);
        long word = LinkMemory.COUNTERS + 8;
        buffers.add(number, 1, 1, 3);
        assertThat(memory.getLong(word)).isEqualTo(3);
        assertThat(counted.takeNews(1)).isEqualTo(2);
        buffers.remove(number);
        buffers.add(number, 1, 1, 3);
        assertThat(memory.getLong(word)).isEqualTo(3);
        assertThat(counted.takeNews(1)).isZero();
    }

    /** What is late for the closed buffer may still come. */
    @Test
    void theNumberOfAClosedBufferIsTheLastToBeGivenAgain() {
        HostMemory memory = FakeFabric.memory(counters[0], 2L * LinkMemory.COUNTERS);
        Buffers buffers = new Buffers();
        for (int i = 0; i < Immediate.BUFFERS; i++) {
            int number = buffers.add(new Buffers.Counted(memory, new AtomicLongArray(2)));
            assertThat(number).isEqualTo(i);
            buffers.remove(number);
        }
        assertThat(buffers.add(new Buffers.Counted(memory, new AtomicLongArray(2))))
                .isZero();
    }

    @Test
    void aGidIndexBehindTheTableIsRefusedWithTheLimit() {
        LocalPort.checkGidIndex("mlx5_0:1", 15, 16);
        assertThatThrownBy(() -> LocalPort.checkGidIndex("mlx5_0:1", 16, 16))
                .hasMessageContainingAll("ep.nic.gid-index is 16", "mlx5_0:1", "15");
        assertThatThrownBy(() -> LocalPort.checkGidIndex("mlx5_0:1", 256, 1024)).hasMessageContaining("255");
    }
}
