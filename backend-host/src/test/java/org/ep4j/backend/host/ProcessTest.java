package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Symmetric buffers between ranks that are processes. */
@Tag("verify")
final class ProcessTest {
    @TempDir(factory = ShmTempDirFactory.class)
    Path folder;

    @Test
    void whatOneProcessWritesEveryOtherSees() throws IOException, InterruptedException {
        try (RankProcesses ranks = RankProcesses.start(3, folder, "exchange", (rank, tag) -> false)) {
            assertThat(ranks.join()).allSatisfy(end -> {
                assertThat(end.said()).containsExactly("right 3");
                assertThat(end.exit()).isZero();
            });
        }
        assertThat(TestRanks.files(folder)).isEmpty();
    }

    @Test
    void nothingHasANameOnceAllProcessesHaveTheBuffer() throws IOException, InterruptedException {
        List<String> seen = new CopyOnWriteArrayList<>();
        try (RankProcesses ranks = RankProcesses.start(3, folder, "exchange", (rank, tag) -> {
            // Past "exposed" all ranks have the buffer, and before "written" none has closed it.
            if (tag.equals("written")) {
                seen.add(String.join(",", TestRanks.files(folder)));
            }
            return false;
        })) {
            ranks.join();
        }
        assertThat(seen).containsExactly("", "", "");
    }

    @Test
    void dataIsThereWhenItsCounterIs() throws IOException, InterruptedException {
        try (RankProcesses ranks = RankProcesses.start(2, folder, "litmus", (rank, tag) -> false)) {
            assertThat(ranks.join()).allSatisfy(end -> assertThat(end.said()).containsExactly("taken 200000 wrong 0"));
        }
    }

    /** At each step of expose one process is killed: the others learn who, undo everything, and can start anew. */
    @ParameterizedTest
    @ValueSource(strings = {"size", "create", "map"})
    void aProcessKilledDuringExposeIsNamedAndAllIsUndone(String step) throws IOException, InterruptedException {
        try (RankProcesses ranks =
                RankProcesses.start(3, folder, "exchange", (rank, tag) -> rank == 1 && tag.endsWith("/b/" + step))) {
            List<RankProcesses.End> ends = ranks.join();
            assertThat(ends.get(1).exit()).isEqualTo(128 + 9);
            for (int survivor : new int[] {0, 2}) {
                assertThat(ends.get(survivor).said()).containsExactly("lost 1 mapped 0 descriptors 0");
                assertThat(ends.get(survivor).exit()).isZero();
            }
        }
        // The dead one's own file, and no other, is left when it had made one; the next to open removes it.
        assertThat(TestRanks.files(folder)).hasSize(step.equals("size") ? 0 : 1);
        TestRanks.runAll(2, folder, (rank, backend) -> true);
        assertThat(TestRanks.files(folder)).isEmpty();
    }

    @Test
    void aFileIsSweptOnceItsMakerIsDeadAndNotBefore() throws IOException, InterruptedException {
        try (RankProcesses ranks = RankProcesses.start(1, folder, "hold", (rank, tag) -> false)) {
            ranks.awaitSaid(0, "made");
            TestRanks.runAll(1, folder, (rank, backend) -> true);
            assertThat(TestRanks.files(folder)).hasSize(1);
            ranks.kill(0);
            assertThat(TestRanks.files(folder)).hasSize(1);
            TestRanks.runAll(1, folder, (rank, backend) -> true);
            assertThat(TestRanks.files(folder)).isEmpty();
        }
    }
}
