package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.ep4j.EpException;
import org.ep4j.transport.Deadline;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class StaleFilesTest {
    private final Libc libc = Libc.load();

    @TempDir(factory = ShmTempDirFactory.class)
    Path folder;

    private int sweep() throws IOException {
        return StaleFiles.sweep(libc, new ShmFolder(folder));
    }

    @Test
    void aFileThatNobodyHoldsIsRemovedWhateverItsNumberSays() throws IOException {
        Files.createFile(folder.resolve("ep4j-1-0123456789abcdef"));
        Files.createFile(folder.resolve("ep4j-" + ProcessHandle.current().pid() + "-0123456789abcdef"));
        assertThat(sweep()).isEqualTo(2);
        assertThat(TestRanks.files(folder)).isEmpty();
    }

    @Test
    void aFileThatItsMakerHoldsStays() throws IOException {
        SharedFile file = SharedFile.create(libc, new ShmFolder(folder), 4096, Deadline.in(TestRanks.DEADLINE));
        assertThat(sweep()).isZero();
        assertThat(TestRanks.files(folder)).containsExactly(file.announcement().name());
        file.removeName();
        file.removeName();
        assertThat(TestRanks.files(folder)).isEmpty();
        file.mapping().unmap();
    }

    @Test
    void filesOfOthersFoldersAndLinksStay() throws IOException {
        Files.createFile(folder.resolve("ep4k-1-0"));
        Files.createDirectory(folder.resolve("ep4j-folder"));
        Files.createSymbolicLink(folder.resolve("ep4j-link"), folder.resolve("ep4k-1-0"));
        assertThat(sweep()).isZero();
        assertThat(TestRanks.files(folder)).containsExactly("ep4j-folder", "ep4j-link", "ep4k-1-0");
    }

    @Test
    void aFileOfAnotherUserStays() throws IOException {
        Path path = Files.createFile(folder.resolve("ep4j-1-0"));
        if (libc.userId() == 0) {
            Files.setAttribute(path, "unix:uid", 65534);
            assertThat(sweep()).isZero();
            assertThat(TestRanks.files(folder)).hasSize(1);
        } else {
            assertThat(StaleFiles.isOurs(path, libc.userId() + 1)).isFalse();
        }
    }

    @Test
    void unmappingTwiceTakesNothingFromTheNextMapping() {
        ShmFolder shm = new ShmFolder(folder);
        SharedFile file = SharedFile.create(libc, shm, 4096, Deadline.in(TestRanks.DEADLINE));
        Mapping first = file.mapping();
        first.unmap();
        Mapping next = SharedFile.open(libc, shm, file.announcement(), 4096);
        // The kernel gives the place that just became free, unless another thread was faster.
        for (int i = 0; i < 1000 && next.address() != first.address(); i++) {
            first = next;
            first.unmap();
            next = SharedFile.open(libc, shm, file.announcement(), 4096);
        }
        assertThat(next.address()).isEqualTo(first.address());
        first.unmap();
        assertThat(TestRanks.mappedFrom(folder)).isEqualTo(1);
        next.unmap();
        assertThat(TestRanks.mappedFrom(folder)).isZero();
        file.removeName();
    }

    @Test
    void aFileThatIsNotTheAnnouncedOneIsRefused() {
        ShmFolder shm = new ShmFolder(folder);
        SharedFile a = SharedFile.create(libc, shm, 4096, Deadline.in(TestRanks.DEADLINE));
        SharedFile b = SharedFile.create(libc, shm, 4096, Deadline.in(TestRanks.DEADLINE));
        SharedFile.Announcement swapped = new SharedFile.Announcement(
                a.announcement().name(), b.announcement().id());
        assertThatThrownBy(() -> SharedFile.open(libc, shm, swapped, 4096))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("is not the file that the peer made");
        assertThatThrownBy(() -> SharedFile.open(libc, shm, a.announcement(), 8192))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("size=4096")
                .hasMessageContaining("size=8192");
        for (SharedFile file : List.of(a, b)) {
            file.removeName();
            file.mapping().unmap();
        }
        assertThat(TestRanks.mappedFrom(folder)).isZero();
        assertThat(TestRanks.descriptorsInto(folder)).isZero();
    }

    /** Makers and sweepers at once: a maker never loses a file that it was given. */
    @Test
    void sweepingNeverTakesAFileThatIsBeingMade() throws Exception {
        ShmFolder shm = new ShmFolder(folder);
        Thread sweeper = new Thread(() -> {
            try {
                while (!Thread.currentThread().isInterrupted()) {
                    StaleFiles.sweep(libc, shm);
                }
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        sweeper.setDaemon(true);
        sweeper.start();
        int lost = 0;
        for (int i = 0; i < 3000; i++) {
            SharedFile file = SharedFile.create(libc, shm, 4096, Deadline.in(TestRanks.DEADLINE));
            Mapping peer = SharedFile.open(libc, shm, file.announcement(), 4096);
            lost += Files.exists(folder.resolve(file.announcement().name())) ? 0 : 1;
            file.removeName();
            file.mapping().unmap();
            peer.unmap();
        }
        sweeper.interrupt();
        sweeper.join(10_000);
        assertThat(lost).isZero();
        assertThat(TestRanks.files(folder)).isEmpty();
        assertThat(TestRanks.descriptorsInto(folder)).isZero();
    }

    @Test
    void openingTheBackendSweeps() throws IOException {
        Files.createFile(folder.resolve("ep4j-1-0123456789abcdef"));
        TestRanks.runAll(2, folder, (rank, backend) -> true);
        assertThat(TestRanks.files(folder)).isEqualTo(List.of());
    }
}
