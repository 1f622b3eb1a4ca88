package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Buffers, backends and ranks closed in any order: what is open still works, and at the end all is unmapped. */
@Tag("verify")
final class CloseOrderTest {
    private static final long PAGES = 16 * 4096;

    private static Path shared = Path.of("");

    @BeforeAll
    static void makeFolder() throws IOException {
        shared = Files.createTempDirectory(Path.of("/dev/shm"), "backend-host-test-");
    }

    @AfterAll
    static void removeFolder() throws IOException {
        Files.delete(shared);
    }

    @Property(tries = 25)
    void closingInAnyOrderDisturbsNobody(
            @ForAll @IntRange(min = 1, max = 4) int ranks, @ForAll @Size(8) List<@IntRange(max = 3) Integer> order) {
        CyclicBarrier step = new CyclicBarrier(ranks);
        TestRanks.runAll(ranks, shared, (rank, backend) -> {
            Map<Integer, SymmetricBuffer> open = new HashMap<>();
            for (int i = 0; i < 2; i++) {
                open.put(i, TestRanks.expose(backend, "b" + i, PAGES));
            }
            for (int who : order) {
                TestRanks.await(step);
                if (who % ranks == rank) {
                    closeNext(backend, open);
                }
                TestRanks.await(step);
                open.values().forEach(buffer -> touchAll(buffer, ranks));
            }
            return true;
        });
        assertThat(TestRanks.mappedFrom(shared)).isZero();
        assertThat(TestRanks.files(shared)).isEmpty();
    }

    private static void closeNext(EpBackend backend, Map<Integer, SymmetricBuffer> open) {
        if (open.isEmpty()) {
            backend.close();
        } else {
            open.remove(open.keySet().iterator().next()).close();
        }
    }

    private static void touchAll(SymmetricBuffer buffer, int ranks) {
        for (int peer = 0; peer < ranks; peer++) {
            ByteBuffer memory = TestRanks.view(TestRanks.peers(buffer).peer(peer));
            memory.putLong((int) PAGES - 8, memory.getLong(0));
        }
    }
}
