package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is measured says nothing here; that every command arrives, does. */
@Tag("verify")
final class FifoCommandTest {
    private static final String RATE = "(?m)^ +%d +%d +\\d+\\.\\d\\d +%s +%s$";

    @TempDir
    private Path folder;

    private static Ran fifo(String device, String library, String... more) {
        String[] all = {
            "--device",
            device,
            "--threads",
            "1,2",
            "--rings",
            "2",
            "--ring-commands",
            "64",
            "--producers",
            "3",
            "--commands",
            "6000",
            "--repeats",
            "1",
            "--pings",
            "20",
            "--native",
            library
        };
        String[] arguments = Arrays.copyOf(all, all.length + more.length);
        System.arraycopy(more, 0, arguments, all.length, more.length);
        return run(arguments);
    }

    private static Ran run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = FifoCommand.run(new PrintWriter(out), new PrintWriter(err), arguments);
        return new Ran(code, out.toString(), err.toString());
    }

    private static void requireCompiler() {
        boolean there = Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "g++")));
        if (!there) {
            System.out.println("skipped: no g++ on the path");
        }
        assumeTrue(there, "no g++ on the path");
    }

    @Test
    void threadsOfTheHostPutWhatThreadsInJavaTake() throws IOException {
        Path json = folder.resolve("fifo.json");
        Ran ran = fifo("host", "none", "--garbage", "100", "--json", json.toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out())
                .containsPattern(RATE.formatted(1, 2, "-", "-"))
                .containsPattern(RATE.formatted(2, 4, "-", "-"))
                .containsPattern("(?m)^Java( +\\d+\\.\\d+){4}  20$")
                .doesNotContain("WRONG");
        assertThat(Files.readString(json)).contains("\"perSecond\"", "\"p999\"", "\"rings\" : 4");
    }

    @Test
    void threadsInCppTakeTheSame() {
        requireCompiler();
        Ran ran = fifo("host", "");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out())
                .containsPattern(RATE.formatted(2, 4, "\\d+\\.\\d\\d", "\\d+\\.\\d\\d"))
                .containsPattern("(?m)^C\\+\\+( +\\d+\\.\\d+){4}  20$")
                .doesNotContain("WRONG");
    }

    @Test
    void aGpuPutsWhatBothTake() {
        EmulatedGpus.require();
        requireCompiler();
        Ran ran = fifo("cuda", "");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out())
                .contains("cuda:0 (sm_90), producers per ring: 3, ring capacity: 64 commands")
                .containsPattern(RATE.formatted(1, 2, "\\d+\\.\\d\\d", "\\d+\\.\\d\\d"))
                .containsPattern("(?m)^Java( +\\d+\\.\\d+){4}  20$")
                .doesNotContain("WRONG");
    }

    @ParameterizedTest
    @CsvSource({
        "--ring-commands, 100, a power of two from 64 to 65536",
        "--threads, '1,0', 'in [1, 256]'",
        "--producers, 1025, 'in [0, 1024]'",
        "--device, tpu, 'host, or cuda'"
    })
    void wrongOptionsAreRefused(String option, String value, String limit) {
        Ran ran = run("--native", "none", option, value);
        assertThat(ran.code()).as(ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains(option).contains(limit);
    }

    @Test
    void aFileThatCannotBeWrittenIsReportedBeforeTheMeasurement() {
        Ran ran =
                fifo("host", "none", "--json", folder.resolve("none/fifo.json").toString());
        assertThat(ran.code()).as(ran.out()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("none/fifo.json");
        assertThat(ran.out()).doesNotContain("Java");
    }

    @Test
    void aLibraryThatIsNotThereIsNamed() {
        Ran ran = fifo("host", folder.resolve("none.so").toString());
        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("none.so cannot be loaded").contains("build it with g++");
    }
}
