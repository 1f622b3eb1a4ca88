package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The model on emulated GPUs, which the build of ep-engine makes where there is g++. */
@Tag("verify")
final class EmulatedGpuTest {
    @TempDir
    private Path folder;

    @BeforeEach
    void requireEmulator() {
        String driver = System.getenv().getOrDefault("EP_CUDA_DRIVER", "");
        boolean there = !driver.isEmpty() && Files.exists(Path.of(driver));
        if (!there && "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            throw new AssertionError("no emulated CUDA at " + driver);
        }
        if (!there) {
            System.out.println("skipped: no emulated CUDA at \"" + driver + "\" (EP_CUDA_DRIVER)");
        }
        assumeTrue(there, "no emulated CUDA");
    }

    private JsonNode generate(String device, int ranks, int batches, String prompts) throws IOException {
        Path out = folder.resolve("out.json");
        assertThat(MoeLlm.run(
                        "--random",
                        "128,2,6,2,64",
                        "--random-prompts",
                        prompts,
                        "--tokens",
                        "4",
                        "--device",
                        device,
                        "--ranks",
                        Integer.toString(ranks),
                        "--batches",
                        Integer.toString(batches),
                        "--json",
                        out.toString()))
                .isZero();
        return JsonMapper.shared().readTree(Files.readAllBytes(out));
    }

    /** Keys and values are BF16 on a GPU, and FP32 on the host. */
    @Test
    void computesWhatTheHostComputes() throws IOException {
        JsonNode gpu = generate("cuda", 2, 1, "3,5");
        JsonNode host = generate("host", 2, 2, "3,5");
        assertThat(gpu.size()).isEqualTo(3);
        for (int i = 0; i < 3; i++) {
            assertThat(gpu.path(i).path("ids")).isEqualTo(host.path(i).path("ids"));
            JsonNode logits = gpu.path(i).path("logitsAfterPrompt");
            for (int j = 0; j < 64; j++) {
                assertThat(logits.path(j).asDouble())
                        .isCloseTo(
                                host.path(i).path("logitsAfterPrompt").path(j).asDouble(), within(0.1));
            }
        }
    }

    /** Compares two batches, whose exchanges are split in halves, on three ranks with one batch on one rank. */
    @Test
    @Tag("all")
    void isEqualToTheBitOnOneAndThreeRanks() throws IOException {
        assertThat(generate("cuda", 3, 2, "4,20")).isEqualTo(generate("cuda", 1, 1, "4,20"));
    }
}
