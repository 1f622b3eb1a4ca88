package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the emulator is for: mistakes in kernels come to light. */
@Tag("verify")
final class EmulatorTest {
    @BeforeEach
    void emulator() {
        EmulatedCuda.require();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "2", "3", "4", "5"})
    void kernelsWithoutMistakeRunInEveryOrder(String seed) throws IOException, InterruptedException {
        assertThat(run("threads", 0, seed)).isEqualTo("out 128 to 0\n");
        assertThat(run("copies", 0, seed)).isEqualTo("out 0 to 6\n");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        threads | 2  | the lanes of a warp are at different collective operations: lane 5 at sync_lanes
        threads | 3  | the lanes of a warp are at different collective operations: lane 5 at ballot
        threads | 4  | the block cannot go on; its threads wait
        threads | 5  | the threads of a block are at different barriers
        threads | 6  | an access at
        threads | 7  | load_remote of 8 bytes at
        threads | 8  | which is no multiple of 8
        threads | 9  | its stack overflows
        threads | 10 | a division by zero
        threads | 11 | reads a lane that has ended
        copies  | 1  | 0 arrivals and 16 bytes missing
        copies  | 2  | which is no multiple of 16
        copies  | 3  | bulk_load of 1000 bytes
        copies  | 4  | ends with a bulk_load that nobody waited for
        copies  | 5  | bulk_store of 1024 bytes at
        copies  | 6  | ends with a bulk_store that has no bulk_commit
        copies  | 8  | store_release publishes while a bulk_store of 1024 bytes
        copies  | 9  | add_acq_rel publishes while a bulk_store of 1024 bytes
        """)
    void mistakesAreReported(String kernel, int mistake, String report) throws IOException, InterruptedException {
        assertThat(run(kernel, mistake, "")).contains(report).contains("cuCtxSynchronize failed");
    }

    @ParameterizedTest
    @CsvSource({"threads, 1, out 2779096613 to 0", "copies, 7, out 0 to 6"})
    void unwrittenDataIsNotVisible(String kernel, int mistake, String left) throws IOException, InterruptedException {
        // Shared memory begins as 0xa5a5a5a5; a bulk_store is written when it is waited for, here at the end of the
        // block.
        assertThat(run(kernel, mistake, "")).isEqualTo(left + "\n");
    }

    /** Kernels, copies to it, from it and from memory that the driver does not know, and fills; queued before it was freed. */
    @ParameterizedTest
    @CsvSource({
        "0, an access",
        "1, a copy of 4096 bytes",
        "2, a copy of 4096 bytes",
        "3, a copy of 4096 bytes",
        "4, a fill of 4096 bytes"
    })
    void aUseOfMemoryThatAnotherProcessHasFreedIsReported(int access, String report)
            throws IOException, InterruptedException {
        assertThat(run("freed", access, ""))
                .startsWith("used")
                .contains(
                        report,
                        "of 4096 of memory of another process, which has freed it",
                        "cuCtxSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS");
    }

    @Test
    void workOfADestroyedStreamEndsBeforeTheContext() throws IOException, InterruptedException {
        assertThat(run("destroyed", 0, "")).isEqualTo("allocated\n");
    }

    @Test
    void staticSharedMemoryIsCountedByKernel() throws IOException, InterruptedException {
        // 232448 bytes are all that a block may have; "copies" has a barrier of 8 bytes.
        assertThat(run("copies", 0, "", "232440")).isEqualTo("out 0 to 6\n");
        assertThat(run("copies", 0, "", "232441")).contains("cuFuncSetAttribute failed: CUDA_ERROR_INVALID_VALUE");
    }

    private static String run(String kernel, int mistake, String seed, String... more)
            throws IOException, InterruptedException {
        Path folder = Path.of(System.getenv(CudaDriver.VARIABLE)).getParent();
        List<String> command = new ArrayList<>(List.of(
                folder.resolve("self-test").toString(),
                "src/test/emulator/self_test.cu",
                kernel,
                Integer.toString(mistake)));
        command.addAll(List.of(more));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        if (!seed.isEmpty()) {
            builder.environment().put("EMULATED_CUDA_SHUFFLE", seed);
        }
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }
}
