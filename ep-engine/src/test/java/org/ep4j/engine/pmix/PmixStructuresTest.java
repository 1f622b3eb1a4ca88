package org.ep4j.engine.pmix;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.jna.Memory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Layouts and numbers that {@code pmix_common.h} has. */
@Tag("verify")
final class PmixStructuresTest {
    private static final List<String> FOLDERS = List.of(
            "/usr/lib/x86_64-linux-gnu/pmix2/include", "/usr/lib/aarch64-linux-gnu/pmix2/include", "/usr/include");

    private static final String PROGRAM = """
            #include <stddef.h>
            #include <stdio.h>
            #include <pmix.h>
            int main(void) {
                printf("%zu %zu %zu %zu %zu %zu ", sizeof(pmix_proc_t), offsetof(pmix_proc_t, rank), sizeof(pmix_value_t),
                    offsetof(pmix_value_t, data), sizeof(pmix_info_t), offsetof(pmix_info_t, value));
                printf("%d %d %d %d %d %s %s ", PMIX_BOOL, PMIX_STRING, PMIX_UINT32, PMIX_GLOBAL, (int) (PMIX_RANK_WILDCARD),
                    PMIX_JOB_SIZE, PMIX_COLLECT_DATA);
                printf("%zu %zu %zu", sizeof(pmix_data_type_t), sizeof(pmix_scope_t), sizeof(pmix_status_t));
                return 0;
            }
            """;

    @TempDir
    private Path folder;

    @Test
    void theyAreThoseOfTheHeader() throws IOException, InterruptedException {
        Optional<String> headers = FOLDERS.stream()
                .filter(name -> Files.exists(Path.of(name, "pmix.h")))
                .findFirst();
        if (headers.isEmpty()) {
            System.out.println("Skipped: no pmix.h in " + FOLDERS + " (Debian: libpmix-dev)");
        }
        assumeTrue(headers.isPresent() || Mpirun.required(), "no pmix.h in " + FOLDERS + " (Debian: libpmix-dev)");
        assertThat(headers).as("pmix.h, with EP_REQUIRE_MPI=1").isPresent();

        Path source = Files.writeString(folder.resolve("sizes.c"), PROGRAM);
        Path program = folder.resolve("sizes");
        run(List.of("g++", "-x", "c", "-I" + headers.orElseThrow(), source.toString(), "-o", program.toString()));
        assertThat(run(List.of(program.toString())).split(" ", -1))
                .containsExactly(
                        "" + PmixStructures.PROC_BYTES,
                        "" + PmixStructures.PROC_RANK,
                        "" + PmixStructures.VALUE_BYTES,
                        "" + PmixStructures.VALUE_DATA,
                        "" + PmixStructures.INFO_BYTES,
                        "" + PmixStructures.INFO_VALUE,
                        "" + PmixStructures.BOOL,
                        "" + PmixStructures.STRING,
                        "" + PmixStructures.UINT32,
                        "" + PmixStructures.GLOBAL,
                        "" + PmixStructures.ANY_RANK,
                        PmixStructures.JOB_SIZE,
                        PmixStructures.COLLECT_DATA,
                        "2",
                        "1",
                        "4");
    }

    private String run(List<String> command) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        String text = Files.readString(output);
        assertThat(process.exitValue()).as(text).isZero();
        return text;
    }

    @Test
    void aMemberOfTheSameJobDiffersByItsRankAlone() {
        Memory own = PmixStructures.proc();
        own.setString(0, "job.1");
        own.setInt(PmixStructures.PROC_RANK, 7);

        Memory other = PmixStructures.proc(own, PmixStructures.ANY_RANK);
        assertThat(other.getString(0)).isEqualTo("job.1");
        assertThat(PmixStructures.rank(other)).isEqualTo(-2);
        assertThat(PmixStructures.rank(own)).isEqualTo(7);
    }

    @Test
    void aValueOfTextPointsAtIt() {
        Memory text = PmixStructures.text("abc".getBytes(US_ASCII));
        Memory value = PmixStructures.value(text);

        assertThat(value.getShort(0)).isEqualTo((short) 3);
        assertThat(value.getPointer(PmixStructures.VALUE_DATA).getString(0)).isEqualTo("abc");
    }

    @Test
    void theAttributeOfAFenceIsTrue() {
        Memory info = PmixStructures.collectData();

        assertThat(info.getString(0)).isEqualTo("pmix.collect");
        assertThat(info.getShort(PmixStructures.INFO_VALUE)).isEqualTo((short) 1);
        assertThat(info.getByte(PmixStructures.INFO_VALUE + PmixStructures.VALUE_DATA))
                .isEqualTo((byte) 1);
    }
}
