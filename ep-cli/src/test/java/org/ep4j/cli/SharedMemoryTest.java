package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.cli.doctor.SharedMemory;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.doctor.DoctorInput.Room;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class SharedMemoryTest {
    private static final String FOLDER = "/dev/shm";

    @TempDir
    private Path folder;

    private static Room room(long free) {
        return new Room(FOLDER, Long.MAX_VALUE, free, Long.MAX_VALUE);
    }

    @Test
    void theRefusalNamesNeedLimitAndFix() {
        assertThat(SharedMemory.refusal(new Need(200, 200L << 20), room(2L << 30)))
                .hasValue("200 ranks need 39.1 GiB of shared memory for their buffers, but /dev/shm has 2.0 GiB free;"
                        + " start fewer ranks (--ranks), choose a smaller --hidden or fewer tokens, make the folder bigger"
                        + " (docker run --shm-size=41g; as root: mount -o remount,size=41g /dev/shm), or set ep.shm.dir to"
                        + " a folder with more room");
    }

    @Test
    void whatFitsIsNotRefused() {
        assertThat(SharedMemory.refusal(new Need(4, 16), room(64))).isEmpty();
        assertThat(SharedMemory.refusal(new Need(4, 16), room(63))).isPresent();
        assertThat(SharedMemory.refusal(new Need(1024, Long.MAX_VALUE / 1024), room(Long.MAX_VALUE)))
                .isEmpty();
    }

    @Test
    void theRefusalOfFilesNamesNeedLimitAndFix() {
        Need need = new Need(200, 16);
        assertThat(SharedMemory.refusal(need, new Room(FOLDER, 1L << 40, 1L << 40, 600)))
                .hasValue(
                        "200 ranks need 601 files of shared memory, but /dev/shm has room for only 600 more files (inodes);"
                                + " start fewer ranks (--ranks), remove the files that earlier jobs left in the folder, allow more inodes (as root:"
                                + " mount -o remount,nr_inodes=1m /dev/shm), or set ep.shm.dir to a folder with more room");
        assertThat(SharedMemory.refusal(need, new Room(FOLDER, 1L << 40, 1L << 40, 601)))
                .isEmpty();
        assertThat(SharedMemory.refusal(need, new Room(FOLDER, 0, 0, 600)))
                .as("without a limit of bytes")
                .isPresent();
    }

    /** The folder itself takes one, and two ranks three each with one for both: what fits is found by trying. */
    @Test
    void ranksWithoutAFileForEachAreNotStartedAndThoseThatFitRun() throws Exception {
        Ran few = demo(7, 2);
        assertThat(few.code()).as(few.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(few.err())
                .contains("2 ranks need 7 files", "room for only 6 more files", "nr_inodes")
                .doesNotContain("\tat ");
        Ran enough = demo(8, 2);
        assertThat(enough.code()).as(enough.err()).isZero();
        assertThat(enough.out()).contains("all valid");
    }

    /** A single rank shares no memory, so that only the file by which ranks meet is missing. */
    @Test
    void withoutAFreeFileForTheBarrierTheCommandFailsWithTheReason() throws Exception {
        Ran none = demo(1, 1);
        assertThat(none.code()).as(none.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(none.err())
                .contains("cannot create a file in /dev/shm", "for the barrier", "No space left", "nr_inodes")
                .doesNotContain("\tat ");
    }

    /** The options by which {@code unshare} lets this user mount a file system; the test is skipped where none does. */
    private static String namespaces() throws Exception {
        // Users other than root need a user namespace, which some containers do not allow even root.
        for (String options : List.of("-m", "-rm")) {
            Process probe = new ProcessBuilder("sh", "-c", "unshare " + options + " mount -t tmpfs none /dev/shm")
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try {
                assertThat(probe.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                        .as("unshare %s ended", options)
                        .isTrue();
            } finally {
                probe.destroyForcibly();
            }
            if (probe.exitValue() == 0) {
                return options;
            }
        }
        String why = "this user cannot mount a file system of its own (unshare -m, unshare -rm)";
        System.out.println("Skipped: " + why);
        return abort(why);
    }

    /** Runs {@code ./ep demo} where {@code /dev/shm} has room for a number of inodes in all. */
    private Ran demo(int inodes, int ranks) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                "unshare",
                namespaces(),
                "sh",
                "-c",
                "mount -t tmpfs -o size=1g,nr_inodes=" + inodes + " none /dev/shm && exec \"$@\"",
                "sh"));
        command.addAll(LocalRanks.javaCommand(
                List.of(),
                Main.class.getName(),
                List.of(("demo --ranks " + ranks
                                + " --hidden 256 --experts 8 --topk 2 --prefill-tokens 16 --decode-tokens 4 --iterations 1")
                        .split(" ", -1))));
        Path out = folder.resolve("out" + inodes);
        Path err = folder.resolve("err" + inodes);
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            assertThat(process.waitFor(Guard.minutes(2).toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        return new Ran(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    @Test
    void aNeedBeyondAllNumbersIsRefused() {
        assertThat(SharedMemory.refusal(new Need(1024, Long.MAX_VALUE / 2), room(2L << 30)))
                .hasValueSatisfying(why -> assertThat(why).startsWith("1024 ranks need 4398046511104.0 GiB"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"demo --prefill-tokens", "bench --tokens"})
    void ranksThatDoNotFitAreNotStarted(String command) {
        Ran ran = Ran.ep((command + " 1000000 --hidden 65536 --ranks 16").split(" ", -1));
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.out()).isEmpty();
        assertThat(ran.err()).startsWith("ep: 16 ranks need ").contains(" free; start fewer ranks");
    }

    @Test
    void aBackendThatTakesNoSharedMemoryIsNotChecked() {
        Ran ran =
                Ran.ep("demo --ranks 2 --backend nothing-here --prefill-tokens 1000000 --hidden 65536".split(" ", -1));
        assertThat(ran.err()).doesNotContain("of shared memory");
    }
}
