package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ep4j.DeviceMemory;
import org.ep4j.gpu.cuda.CudaDevice;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.gpu.driver.MemoryHandle.Kind;
import org.ep4j.gpu.driver.PeerOrderingCheck.PeerOrdering;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PeerOrderingTest {
    private static final Duration WAIT = Guard.minute();

    private interface Part {
        Optional<String> run(int rank, DeviceMemory own, DeviceMemory peer, PeerOrdering test);
    }

    private static List<Optional<String>> run(Part part)
            throws InterruptedException, ExecutionException, TimeoutException {
        List<CompletableFuture<Optional<String>>> ranks = new ArrayList<>();
        try (CudaDevice a = EmulatedCuda.open(0);
                CudaDevice b = EmulatedCuda.open(1);
                SharedMemory ofA = GpuSharing.of(a, "cuda").allocate(PeerOrdering.BYTES, Kind.PROCESS);
                SharedMemory ofB = GpuSharing.of(b, "cuda").allocate(PeerOrdering.BYTES, Kind.PROCESS);
                SharedMemory bAtA = GpuSharing.of(a, "cuda")
                        .map(MemoryHandle.decode(ofB.handle().encode()));
                SharedMemory aAtB = GpuSharing.of(b, "cuda")
                        .map(MemoryHandle.decode(ofA.handle().encode()));
                PeerOrdering testA = new PeerOrdering(a);
                PeerOrdering testB = new PeerOrdering(b)) {
            ranks.add(CompletableFuture.supplyAsync(() -> part.run(0, ofA.memory(), bAtA.memory(), testA)));
            ranks.add(CompletableFuture.supplyAsync(() -> part.run(1, ofB.memory(), aAtB.memory(), testB)));
            List<Optional<String>> verdicts = new ArrayList<>();
            for (CompletableFuture<Optional<String>> rank : ranks) {
                verdicts.add(rank.get(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS));
            }
            return verdicts;
        }
    }

    @Test
    void orderedMemoryPassesRepeatedTests() throws Exception {
        Phaser both = new Phaser(2);
        assertThat(run((rank, own, peer, test) -> {
                    for (int number = 0; number < 3; number++) {
                        Optional<String> wrong = test.check(own, peer, rank == 0, number, 7 + number, WAIT);
                        // As in a backend: who is done must not write what the other still reads.
                        both.arriveAndAwaitAdvance();
                        if (wrong.isPresent()) {
                            return wrong;
                        }
                    }
                    return Optional.empty();
                }))
                .containsExactly(Optional.empty(), Optional.empty());
    }

    @Test
    void lateDataIsDetected() throws Exception {
        String late = PeerOrdering.source().replace("store_once(", "if (round != 3 || i != 77) store_once(");
        assertThat(late).isNotEqualTo(PeerOrdering.source());
        List<Optional<String>> verdicts = run((rank, own, peer, test) -> {
            try (PeerOrdering broken = new PeerOrdering(EmulatedCuda.open(rank), late)) {
                return (rank == 0 ? broken : test).check(own, peer, rank == 0, 0, 8, WAIT);
            }
        });
        assertThat(verdicts.get(0)).isEmpty();
        assertThat(verdicts.get(1))
                .get()
                .asString()
                .contains("data arrived later than its flag", "1 of ", "first in test round 3");
    }

    @Test
    void aMissingPeerEndsTheWaitAtTheDeadline() throws Exception {
        List<Optional<String>> verdicts = run((rank, own, peer, test) ->
                rank == 0 ? Optional.empty() : test.check(own, peer, false, 0, 10, Duration.ofMillis(200)));
        assertThat(verdicts.get(1)).get().asString().contains("never arrived");
    }
}
