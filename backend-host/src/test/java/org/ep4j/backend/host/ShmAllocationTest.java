package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPath;
import org.ep4j.EpStateException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.SymmetricBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Symmetric buffers between ranks that are threads of this process. */
@Tag("verify")
final class ShmAllocationTest {
    private static final long PAGES = 16 * 4096;

    @TempDir(factory = ShmTempDirFactory.class)
    Path folder;

    @Test
    void whatOneRankWritesEveryOtherSees() {
        int ranks = 5;
        CyclicBarrier written = new CyclicBarrier(ranks);
        List<Integer> right = TestRanks.runAll(ranks, folder, (rank, backend) -> {
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES)) {
                MappedPeers peers = TestRanks.peers(buffer);
                for (int peer = 0; peer < ranks; peer++) {
                    TestRanks.view(peers.peer(peer)).putInt(4 * rank, 1 + 100 * rank + peer);
                }
                TestRanks.await(written);
                ByteBuffer mine = TestRanks.view(buffer.local());
                int seen = 0;
                for (int from = 0; from < ranks; from++) {
                    seen += mine.getInt(4 * from) == 1 + 100 * from + rank ? 1 : 0;
                }
                return seen;
            }
        });
        assertThat(right).containsOnly(ranks);
    }

    @Test
    void newMemoryIsZeroAndAsLongAsAsked() {
        List<Boolean> zero = TestRanks.runAll(2, folder, (rank, backend) -> {
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES)) {
                DeviceMemory memory = buffer.local();
                assertThat(memory.byteSize()).isEqualTo(PAGES);
                assertThat(memory.device()).isEqualTo(Device.HOST);
                assertThat(memory.address() % 4096).isZero();
                ByteBuffer bytes = TestRanks.view(memory);
                boolean all = true;
                while (bytes.hasRemaining()) {
                    all &= bytes.get() == 0;
                }
                return all;
            }
        });
        assertThat(zero).containsOnly(true);
    }

    @Test
    void aRankIsItsOwnPeer() {
        TestRanks.runAll(2, folder, (rank, backend) -> {
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES)) {
                assertThat(TestRanks.peers(buffer).peer(rank)).isEqualTo(buffer.local());
                assertThat(TestRanks.peers(buffer).peer(1 - rank).address())
                        .isNotEqualTo(buffer.local().address());
                return true;
            }
        });
    }

    @Test
    void aGroupOfOneWorks() {
        assertThat(TestRanks.runAll(
                        1,
                        folder,
                        (rank, backend) ->
                                TestRanks.expose(backend, "b", PAGES).local().byteSize()))
                .containsExactly(PAGES);
    }

    @Test
    void theFolderIsEmptyAndNoDescriptorOpenOnceAllHaveIt() {
        CyclicBarrier exposed = new CyclicBarrier(3);
        List<List<String>> seen = TestRanks.runAll(3, folder, (rank, backend) -> {
            TestRanks.expose(backend, "b", PAGES);
            TestRanks.await(exposed);
            List<String> files = new ArrayList<>(TestRanks.files(folder));
            if (TestRanks.descriptorsInto(folder) != 0) {
                files.add("descriptor");
            }
            TestRanks.await(exposed);
            return files;
        });
        assertThat(seen).containsOnly(List.of());
    }

    @Test
    void closingUnmapsEverything() {
        CyclicBarrier step = new CyclicBarrier(3);
        TestRanks.runAll(3, folder, (rank, backend) -> {
            SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES);
            TestRanks.await(step);
            assertThat(TestRanks.mappedFrom(folder)).isEqualTo(9);
            TestRanks.await(step);
            buffer.close();
            TestRanks.await(step);
            assertThat(TestRanks.mappedFrom(folder)).isZero();
            return true;
        });
    }

    @Test
    void closingTheBackendClosesItsBuffers() {
        TestRanks.runAll(2, folder, (rank, backend) -> {
            TestRanks.expose(backend, "a", PAGES);
            TestRanks.expose(backend, "b", PAGES).close();
            SymmetricBuffer last = TestRanks.expose(backend, "c", PAGES);
            backend.close();
            backend.close();
            assertThatThrownBy(last::local).isInstanceOf(EpStateException.class).hasMessageContaining("\"c\"");
            assertThatThrownBy(() -> TestRanks.expose(backend, "d", PAGES))
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("closed");
            return true;
        });
        assertThat(TestRanks.mappedFrom(folder)).isZero();
    }

    @Test
    void aClosedBufferGivesNoMemory() {
        TestRanks.runAll(2, folder, (rank, backend) -> {
            SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES);
            buffer.close();
            buffer.close();
            assertThatThrownBy(buffer::local).isInstanceOf(EpStateException.class);
            assertThatThrownBy(() -> TestRanks.peers(buffer).peer(1 - rank)).isInstanceOf(EpStateException.class);
            return true;
        });
    }

    @Test
    void closingFromManyThreadsUnmapsOnce() {
        TestRanks.runAll(1, folder, (rank, backend) -> {
            for (int round = 0; round < 50; round++) {
                SymmetricBuffer buffer = TestRanks.expose(backend, "b" + round, PAGES);
                CyclicBarrier start = new CyclicBarrier(4);
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    threads.add(new Thread(() -> {
                        TestRanks.await(start);
                        buffer.close();
                    }));
                }
                threads.forEach(Thread::start);
                // The next mapping may get the same address: a second unmapping would take it away.
                for (Thread thread : threads) {
                    join(thread);
                }
                assertThat(TestRanks.mappedFrom(folder)).isZero();
            }
            return true;
        });
    }

    private static void join(Thread thread) {
        try {
            thread.join(30_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void twoBuffersAreSeparate() {
        TestRanks.runAll(2, folder, (rank, backend) -> {
            try (SymmetricBuffer a = TestRanks.expose(backend, "a", PAGES);
                    SymmetricBuffer b = TestRanks.expose(backend, "b", 2 * PAGES)) {
                TestRanks.view(a.local()).putLong(0, 7);
                assertThat(TestRanks.view(b.local()).getLong(0)).isZero();
                assertThat(TestRanks.peers(b).peer(1 - rank).byteSize()).isEqualTo(2 * PAGES);
                return true;
            }
        });
    }

    @Test
    void anUnknownRankIsRefusedWithThoseThatAreConnected() {
        TestRanks.runAll(3, folder, (rank, backend) -> {
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES)) {
                for (int wrong : new int[] {-1, 3}) {
                    assertThatThrownBy(() -> TestRanks.peers(buffer).peer(wrong))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("rank " + wrong)
                            .hasMessageContaining(rank == 0 ? "1, 2" : "0, ");
                }
                return true;
            }
        });
    }

    /** Two hosts of two ranks: the backend's all-gather spans both, its memory does not. */
    @Test
    void onlyPeersThatThePlanReachesOverItAreMapped() {
        GroupPlan all = TestRanks.plan(4, TestRanks.config(folder));
        List<EpPath> paths = all.paths().stream()
                .map(p -> p.from() / 2 == p.to() / 2
                        ? p
                        : EpPath.builder(p.from(), p.to(), "posted", EpPath.Kind.HOST_POSTED)
                                .nics(List.of("mlx5_0:1"))
                                .gigabytesPerSecond(10)
                                .latencyMicros(5)
                                .build())
                .toList();
        GroupPlan plan = GroupPlan.of(all.profiles(), paths);
        var outcomes = TestRanks.run(List.of(cfg(), cfg(), cfg(), cfg()), plan, (rank, backend) -> {
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES)) {
                MappedPeers peers = TestRanks.peers(buffer);
                assertThat(peers.peer(rank ^ 1).byteSize()).isEqualTo(PAGES);
                assertThatThrownBy(() -> peers.peer(rank ^ 2)).isInstanceOf(IllegalArgumentException.class);
                return true;
            }
        });
        assertThat(outcomes).allSatisfy(o -> assertThat(o.failure()).isEmpty());
    }

    private org.ep4j.EpConfig cfg() {
        return TestRanks.config(folder);
    }

    @Test
    void differentSizesAreRefusedOnAllRanksWithBoth() {
        var outcomes = TestRanks.run(
                3, folder, (rank, backend) -> TestRanks.expose(backend, "b", rank == 2 ? 2 * PAGES : PAGES));
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpMismatchException.class)
                        .hasMessageContaining("rank 0")
                        .hasMessageContaining("rank 2")
                        .hasMessageContaining(PAGES + " bytes")
                        .hasMessageContaining(2 * PAGES + " bytes"));
        assertThat(TestRanks.files(folder)).isEmpty();
        assertThat(TestRanks.mappedFrom(folder)).isZero();
    }

    @Test
    void aWrongSizeOnOneRankFailsOnAll() {
        for (long wrong : new long[] {0, -4096, 4095, 4097}) {
            var outcomes = TestRanks.run(
                    2, folder, (rank, backend) -> TestRanks.expose(backend, "b", rank == 1 ? wrong : PAGES));
            assertThat(outcomes.get(1).failure().orElseThrow())
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining(Long.toString(wrong))
                    .hasMessageContaining("4096");
            assertThat(outcomes.get(0).failure().orElseThrow())
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("rank 1")
                    .hasMessageContaining(Long.toString(wrong));
        }
    }

    @Test
    void memoryForKernelsThatPostIsRefused() {
        var outcomes = TestRanks.run(
                2,
                folder,
                (rank, backend) -> backend.as(AllocatesMemory.class)
                        .orElseThrow()
                        .allocate("b", PAGES, AllocatesMemory.Purpose.DEVICE_POSTED, TestRanks.DEADLINE));
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("purpose is DEVICE_POSTED, must be one of [MAPPED]"));
    }

    /** As after a loss: the view makes buffers among the ranks that are left. */
    @Test
    void aBackendAndItsViewAmongSomeRanksAreClosedTogether() {
        for (boolean viewFirst : new boolean[] {true, false}) {
            TestRanks.runAll(2, folder, (rank, backend) -> {
                try (Bootstrap alone = Bootstrap.inProcess(1).get(0)) {
                    EpBackend view =
                            backend.as(RecoverableBackend.class).orElseThrow().among(alone, List.of(rank));
                    TestRanks.expose(view, "a", PAGES).close();
                    EpBackend closed = viewFirst ? view : backend;
                    EpBackend other = viewFirst ? backend : view;
                    closed.close();
                    assertThatThrownBy(() -> TestRanks.expose(other, "b", PAGES))
                            .isInstanceOf(EpStateException.class)
                            .hasMessageContaining("host-shm is closed on rank " + rank);
                    return true;
                }
            });
        }
    }

    @Test
    void afterAFailureTheBackendGoesOn() {
        TestRanks.runAll(2, folder, (rank, backend) -> {
            assertThatThrownBy(() -> TestRanks.expose(backend, "a", rank == 0 ? 1 : PAGES))
                    .isInstanceOf(EpException.class);
            try (SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES)) {
                return buffer.local().byteSize();
            }
        });
    }

    /** One rank's folder vanishes after the probe: the others learn its reason, and nothing stays. */
    @Test
    void aRankThatCannotMakeItsFileFailsAllWithItsReason() throws IOException {
        Path link = folder.resolve("link");
        Path real = Files.createDirectory(folder.resolve("real"));
        Files.createSymbolicLink(link, real);
        GroupPlan plan = TestRanks.plan(2, TestRanks.config(real));
        CyclicBarrier opened = new CyclicBarrier(2);
        var outcomes = TestRanks.run(List.of(TestRanks.config(real), TestRanks.config(link)), plan, (rank, backend) -> {
            TestRanks.await(opened);
            if (rank == 1) {
                delete(link);
            }
            return TestRanks.expose(backend, "b", PAGES);
        });
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpException.class)
                        .hasMessageContaining("ENOENT (2")
                        .hasMessageContaining("ep.shm.dir")
                        .hasMessageContaining("\"b\""));
        assertThat(outcomes.get(0).failure().orElseThrow()).hasMessageContaining("rank 1");
        assertThat(TestRanks.files(real)).isEmpty();
        assertThat(TestRanks.mappedFrom(real)).isZero();
    }

    /** The probe said "same folder", and it is not: the peer's file is not found, and all learn so. */
    @Test
    void aRankThatSeesAnotherFolderFailsAll() throws IOException {
        Path a = Files.createDirectory(folder.resolve("a"));
        Path b = Files.createDirectory(folder.resolve("b"));
        GroupPlan plan = TestRanks.plan(2, TestRanks.config(a));
        var outcomes = TestRanks.run(
                List.of(TestRanks.config(a), TestRanks.config(b)),
                plan,
                (rank, backend) -> TestRanks.expose(backend, "b", PAGES));
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpException.class)
                        .hasMessageContaining("ENOENT (2"));
        assertThat(TestRanks.files(a)).isEmpty();
        assertThat(TestRanks.files(b)).isEmpty();
        assertThat(TestRanks.mappedFrom(folder)).isZero();
    }

    @Test
    void oneFolderAtTwoPathsWorks() throws IOException {
        Path real = Files.createDirectory(folder.resolve("real"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), real);
        GroupPlan plan = TestRanks.plan(2, TestRanks.config(real));
        var outcomes = TestRanks.run(
                List.of(TestRanks.config(real), TestRanks.config(link)),
                plan,
                (rank, backend) -> TestRanks.expose(backend, "b", PAGES));
        assertThat(outcomes).allSatisfy(o -> assertThat(o.failure()).isEmpty());
    }

    @Test
    void openingInAMissingFolderFailsOnAllRanks() throws IOException {
        GroupPlan plan = TestRanks.plan(2, TestRanks.config(folder));
        Path gone = folder.resolve("gone");
        var outcomes =
                TestRanks.run(List.of(TestRanks.config(folder), TestRanks.config(gone)), plan, (rank, backend) -> true);
        assertThat(outcomes)
                .allSatisfy(o -> assertThat(o.failure().orElseThrow())
                        .isInstanceOf(EpException.class)
                        .hasMessageContaining(gone.toString())
                        .hasMessageContaining("ep.shm.dir"));
    }

    private static void delete(Path path) {
        try {
            Files.delete(path);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void memoryOfAPeerStaysWhenItsOwnerHasClosed() {
        CyclicBarrier step = new CyclicBarrier(2);
        TestRanks.runAll(2, folder, (rank, backend) -> {
            SymmetricBuffer buffer = TestRanks.expose(backend, "b", PAGES);
            if (rank == 0) {
                TestRanks.view(buffer.local()).putLong(0, 42);
                buffer.close();
                backend.close();
            }
            TestRanks.await(step);
            if (rank == 1) {
                ByteBuffer peer = TestRanks.view(TestRanks.peers(buffer).peer(0));
                assertThat(peer.getLong(0)).isEqualTo(42);
                peer.putLong(0, 43);
                assertThat(peer.getLong(0)).isEqualTo(43);
            }
            TestRanks.await(step);
            buffer.close();
            return true;
        });
    }
}
