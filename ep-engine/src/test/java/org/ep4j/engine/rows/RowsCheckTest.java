package org.ep4j.engine.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class RowsCheckTest {
    @TempDir
    private Path folder;

    /** Skips the tests where there is no compiler; with {@code EP_REQUIRE_COMPILERS=1} they fail instead. */
    @BeforeEach
    void requireCompiler() {
        if (!RowsProgram.isInstalled("g++")) {
            assertThat(System.getenv("EP_REQUIRE_COMPILERS")).as("no g++").isNotEqualTo("1");
            RowsProgram.skip("no g++ in PATH (Debian: apt-get install g++)");
        }
    }

    @Test
    void allVariantsOfThisProcessorGiveTheExpectedRowsAndOtherThreadsSeeThem() throws Exception {
        RowsProgram program = new RowsProgram(folder, "g++");
        assertThat(program.run(program.check())).contains("variants give the expected rows");
    }

    /** Without it, threads that see what is stored later may not see the rows. */
    @Test
    void nonTemporalStoresAreFollowedByAFence() throws Exception {
        assumeTrue(System.getProperty("os.arch").equals("amd64"), "instructions have the names of x86-64");
        String all = new RowsProgram(folder, "g++").instructions();
        assertThat(all).contains("movntdq");
        for (String function : List.of("call_copy", "call_sum")) {
            assertThat(RowsProgram.instructions(all, function)).contains("sfence");
        }
    }
}
