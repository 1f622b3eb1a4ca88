package org.ep4j.engine.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Locks that show whether the processes of other ranks live. */
@Tag("verify")
@EnabledOnOs(OS.LINUX)
final class LivenessLocksTest {
    private static final String HOST = "this-host";
    private static final int PAGE = 4096;

    @TempDir
    private Path folder;

    private LivenessLocks locks() {
        return LivenessLocks.create(HOST, List.of(folder), false);
    }

    private long names() throws IOException {
        try (var files = Files.list(folder)) {
            return files.count();
        }
    }

    @Test
    void aRankThatLeavesIsNotLost() throws Exception {
        try (Holder holder = new Holder(folder);
                LivenessLocks mine = locks()) {
            mine.open(0, List.of(mine.announcement(), holder.announcement));
            assertThat(mine.isAnyWatched()).isTrue();
            assertThat(mine.state(1)).isEqualTo(MemberState.ALIVE);
            holder.leave();
            Guard.until("the lock is free", () -> mine.state(1) != MemberState.ALIVE);
            assertThat(mine.state(1)).isEqualTo(MemberState.LEFT);
            assertThat(mine.hasEnded(1, MemberState.LOST))
                    .as("its connection was lost before it left")
                    .isTrue();
            assertThat(mine.isAnyWatched()).isFalse();
        }
    }

    @Test
    void aStoppedProcessIsAliveAndAKilledOneIsLost() throws Exception {
        try (Holder holder = new Holder(folder);
                LivenessLocks mine = locks();
                LivenessLocks third = locks()) {
            List<byte[]> all = List.of(mine.announcement(), holder.announcement);
            mine.open(0, all);
            third.open(2, all);
            holder.signal("STOP");
            for (int i = 0; i < 100; i++) {
                assertThat(mine.state(1)).as("while it is stopped").isEqualTo(MemberState.ALIVE);
                assertThat(third.state(1))
                        .as("while another rank tests the lock too")
                        .isEqualTo(MemberState.ALIVE);
            }
            holder.process.destroyForcibly().waitFor();
            Guard.until("its end is known", () -> mine.state(1) == MemberState.LOST);
            Guard.until("its end is known to a second rank", () -> third.state(1) == MemberState.LOST);
            assertThat(mine.state(1)).as("asked again").isEqualTo(MemberState.LOST);
        }
    }

    @Test
    void membersOfAGroupKnowADeathThatTheBootstrapDoesNotKnow() throws Exception {
        try (Holder holder = new Holder(folder)) {
            List<Bootstrap> unaware = Bootstrap.inProcess(3);
            LivenessLocks mine = locks();
            mine.open(0, List.of(mine.announcement(), "another".getBytes(StandardCharsets.UTF_8), holder.announcement));
            try (Bootstrap members = LivenessBootstrap.of(unaware.get(0), mine)) {
                long before = members.stateChanges();
                assertThat(IntStream.range(0, 3).mapToObj(members::state)).containsOnly(MemberState.ALIVE);
                holder.process.destroyForcibly().waitFor();
                Guard.until("the death is known", () -> members.state(2) == MemberState.LOST);
                // Counted after the state is set, so that a reader of the count finds the state.
                Guard.until("the change is counted", () -> members.stateChanges() > before);
                assertThat(members.state(1)).isEqualTo(MemberState.ALIVE);
                assertThat(unaware.get(0).state(2)).isEqualTo(MemberState.ALIVE);
            }
            unaware.get(1).close();
            unaware.get(2).close();
        }
        assertThat(names()).as("the killed process could not remove its name").isOne();
    }

    @Test
    void sharesMemoryOfABufferInTheFilesOfAllRanks() {
        try (LivenessLocks one = locks();
                LivenessLocks two = locks()) {
            List<byte[]> all = List.of(one.announcement(), two.announcement());
            one.open(0, all);
            assertThat(one.reaches(List.of(1))).isTrue();
            assertThat(two.reaches(List.of(0)))
                    .as("before it has opened the other file")
                    .isFalse();
            two.open(1, all);
            LivenessLocks.Shared mine = one.share(3, PAGE, List.of(1));
            LivenessLocks.Shared theirs = two.share(3, PAGE, List.of(0));
            try (LivenessLocks.Shared other = one.share(4, PAGE, List.of())) {
                mine.peers().get(1).putLong(8, 5);
                theirs.peers().get(0).putLong(PAGE - 8, 6);
                assertThat(HostMemory.of(theirs.own()).getLong(8)).isEqualTo(5);
                assertThat(HostMemory.of(mine.own()).getLong(PAGE - 8)).isEqualTo(6);
                assertThat(HostMemory.of(other.own()).getLong(PAGE - 8)).isZero();
            }
            mine.close();
            assertThat(HostMemory.of(theirs.own()).getLong(8))
                    .as("after the other rank has closed its part")
                    .isEqualTo(5);
            theirs.close();
            try (LivenessLocks.Shared again = one.share(3, PAGE, List.of(1))) {
                assertThat(HostMemory.of(again.own()).getLong(PAGE - 8))
                        .as("memory that was given back")
                        .isZero();
            }
        }
    }

    @Test
    void aSubgroupHasRanksOfItsOwn() throws Exception {
        try (Holder holder = new Holder(folder)) {
            List<Bootstrap> unaware = Bootstrap.inProcess(3);
            LivenessLocks mine = locks();
            mine.open(0, List.of(mine.announcement(), new byte[0], holder.announcement));
            try (Bootstrap members = LivenessBootstrap.of(unaware.get(0), mine);
                    Bootstrap both = members.subgroup("both", List.of(0, 2))) {
                holder.process.destroyForcibly().waitFor();
                Guard.until("the death is known", () -> both.state(1) == MemberState.LOST);
                assertThat(both.state(0)).isEqualTo(MemberState.ALIVE);
            }
            unaware.get(1).close();
            unaware.get(2).close();
        }
    }

    @Test
    void nothingIsKnownOfARankWhoseFileIsAnotherOneOrOnAnotherHostOrOfThisProcess() throws Exception {
        try (Holder holder = new Holder(folder);
                LivenessLocks mine = locks();
                LivenessLocks sibling = locks();
                LivenessLocks far = LivenessLocks.create("another-host", List.of(folder), false)) {
            Path path = Path.of(new String(holder.announcement, StandardCharsets.UTF_8).split("\n", -1)[3]);
            Files.delete(path);
            Files.createFile(path);
            mine.open(0, List.of(mine.announcement(), holder.announcement, far.announcement(), sibling.announcement()));
            assertThat(mine.isAnyWatched()).isFalse();
        }
    }

    /** Closing buffers gives no numbers back. */
    @Test
    void aGroupThatHasHadTooManyBuffersIsJoinedAgain() {
        try (LivenessLocks mine = locks()) {
            assertThatThrownBy(() -> mine.reserve(1_000_000, 4096))
                    .isInstanceOfSatisfying(
                            EpResourceException.class,
                            e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN))
                    .hasMessageContaining("join a new group");
        }
    }

    @Test
    void theNewestCompleteRecordOfARankIsReadOnceItsEndIsProved() throws Exception {
        try (LivenessLocks mine = LivenessLocks.create(HOST, List.of(folder), true);
                LivenessLocks sibling = locks()) {
            mine.open(0, List.of(mine.announcement(), sibling.announcement()));
            assertThat(mine.finalRecord(1, MemberState.LOST, 3, 40))
                    .as("nothing stored")
                    .contains(new byte[0]);
            sibling.reserve(3, 40);
            byte[] first = {1, 2, 3};
            byte[] second = {4, 5, 6, 7};
            sibling.store(3, 40, first);
            sibling.store(4, 40, new byte[] {9});
            assertThat(mine.finalRecord(1, MemberState.LOST, 3, 40)).contains(first);
            sibling.store(3, 40, second);
            assertThat(mine.finalRecord(1, MemberState.ALIVE, 3, 40))
                    .as("alive")
                    .isEmpty();
            assertThat(mine.finalRecord(2, MemberState.LOST, 3, 40))
                    .as("a rank without a file")
                    .isEmpty();
            assertThat(mine.finalRecord(1, MemberState.LEFT, 3, 40)).contains(second);
            // Its process ended while it wrote the second copy.
            Path path = Path.of(new String(sibling.announcement(), StandardCharsets.UTF_8).split("\n", -1)[3]);
            byte[] content = Files.readAllBytes(path);
            int at = new String(content, StandardCharsets.ISO_8859_1).indexOf("\4\5\6\7");
            content[at + 2]++;
            Files.write(path, content);
            assertThat(mine.finalRecord(1, MemberState.LOST, 3, 40)).contains(first);
        }
    }

    @Test
    void findsTheFileOfAPeerThatSeesTheFolderAtAnotherPath() throws Exception {
        try (Holder holder = new Holder(folder);
                LivenessLocks mine = locks()) {
            String elsewhere = new String(holder.announcement, StandardCharsets.UTF_8)
                    .replace(folder.toString(), folder.resolve("elsewhere").toString());
            mine.open(0, List.of(mine.announcement(), elsewhere.getBytes(StandardCharsets.UTF_8)));
            assertThat(mine.isAnyWatched()).isTrue();
        }
    }

    @Test
    void aLossThatIsOnlySuspectedProvesNothing() {
        try (LivenessLocks mine = locks();
                LivenessLocks sibling = locks()) {
            mine.open(0, List.of(mine.announcement(), sibling.announcement()));
            assertThat(mine.finalRecord(1, MemberState.LOST, 0, 40)).isEmpty();
            assertThat(mine.hasEnded(1, MemberState.LOST)).isFalse();
        }
    }

    /** As in a folder of a file system that does not show the locks of other machines or containers. */
    @Test
    void aLockThatSeemsFreeFromTheBeginningProvesNothing() throws Exception {
        Path file = Files.createFile(folder.resolve("ep4j-1-0.life"));
        String announcement = String.join("\n", HOST, "another process", LivenessFile.id(file), file.toString());
        try (LivenessLocks mine = locks()) {
            mine.open(0, List.of(mine.announcement(), announcement.getBytes(StandardCharsets.UTF_8)));
            assertThat(mine.state(1)).isEqualTo(MemberState.ALIVE);
            assertThat(mine.isAnyWatched()).isFalse();
        }
    }

    @Test
    void theNameGoesAndTheLockStays() throws Exception {
        try (Holder holder = new Holder(folder);
                LivenessLocks mine = locks()) {
            mine.open(0, List.of(mine.announcement(), holder.announcement));
            mine.removeName();
            try (var files = Files.list(folder)) {
                for (Path path : files.toList()) {
                    Files.delete(path);
                }
            }
            assertThat(mine.state(1)).isEqualTo(MemberState.ALIVE);
            holder.process.destroyForcibly().waitFor();
            Guard.until("its end is known", () -> mine.state(1) == MemberState.LOST);
        }
    }

    @Test
    void whereNoFolderCanBeWrittenNothingIsKnown() throws Exception {
        Path file = Files.createFile(folder.resolve("no-folder"));
        try (LivenessLocks without = LivenessLocks.create(HOST, List.of(file), false);
                Holder holder = new Holder(folder)) {
            without.open(0, List.of(without.announcement(), holder.announcement));
            assertThat(without.isAnyWatched()).as("it can watch others").isTrue();
            assertThat(new String(without.announcement(), StandardCharsets.UTF_8))
                    .endsWith("\n");
        }
    }

    /** Another process that holds a lock until it is ended or asked to leave. */
    private static final class Holder implements AutoCloseable {
        private final Process process;
        private final byte[] announcement;

        Holder(Path folder) throws IOException {
            process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-cp",
                            System.getProperty("java.class.path"),
                            Main.class.getName(),
                            folder.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            var lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            announcement = HexFormat.of().parseHex(lines.readLine());
        }

        void leave() throws IOException {
            process.getOutputStream().close();
        }

        void signal(String name) throws Exception {
            assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                            .inheritIO()
                            .start()
                            .waitFor())
                    .isZero();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    /** The other process; ends with its input. */
    static final class Main {
        private Main() {}

        public static void main(String[] args) throws IOException {
            try (LivenessLocks locks = LivenessLocks.create(HOST, List.of(Path.of(args[0])), false)) {
                System.out.println(HexFormat.of().formatHex(locks.announcement()));
                while (System.in.read() >= 0) {
                    // Nothing is sent.
                }
            }
        }
    }
}
