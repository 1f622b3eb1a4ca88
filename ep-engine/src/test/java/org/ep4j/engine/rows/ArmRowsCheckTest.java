package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Native rows, compiled for AArch64 and run by an emulator. */
@Tag("all")
class ArmRowsCheckTest {
    private static final String COMPILER = "aarch64-linux-gnu-g++";

    @TempDir
    private Path folder;

    @BeforeEach
    void requireCompilerAndEmulator() {
        if (!RowsProgram.isInstalled(COMPILER) || !RowsProgram.isInstalled("qemu-aarch64")) {
            RowsProgram.skip("no " + COMPILER + " or no qemu-aarch64 in PATH"
                    + " (Debian: apt-get install g++-aarch64-linux-gnu qemu-user)");
        }
    }

    @Test
    void neonGivesTheExpectedRows() throws Exception {
        RowsProgram program = new RowsProgram(folder, COMPILER);
        // So that the emulator needs no libraries of that processor.
        assertThat(program.run("qemu-aarch64", program.check("-static"))).contains("1 variants give the expected rows");
    }

    /** Without it, threads that see what is stored later may not see the rows. */
    @Test
    void nonTemporalStoresAreFollowedByAFence() throws Exception {
        String all = new RowsProgram(folder, COMPILER).instructions();
        assertThat(all).contains("stnp");
        for (String function : List.of("call_copy", "call_sum")) {
            assertThat(RowsProgram.instructions(all, function)).contains("dmb");
        }
    }

    /** A call for each channel would be slower than the loops of the JVM. */
    @Test
    void neonMultipliesAndAddsInOneInstruction() throws Exception {
        assertThat(new RowsProgram(folder, COMPILER).instructions()).containsPattern("fmla\\s+v\\d+\\.4s");
    }
}
