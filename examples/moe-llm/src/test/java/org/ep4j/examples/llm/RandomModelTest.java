package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Whole runs with random weights: what is computed does not depend on the number of ranks. */
@Tag("verify")
final class RandomModelTest {
    @TempDir
    private Path folder;

    private JsonNode generate(String... options) throws IOException {
        Path out = folder.resolve("out.json");
        List<String> all = new ArrayList<>(List.of(
                "--random", "128,2,12,3,256", "--random-prompts", "5,110", "--tokens", "6", "--json", out.toString()));
        all.addAll(List.of(options));
        assertThat(MoeLlm.run(all.toArray(String[]::new))).isZero();
        return JsonMapper.shared().readTree(Files.readAllBytes(out));
    }

    /** Prompts that need several steps of prefill, more of them than ranks, and not as many on each. */
    @Test
    void isEqualToTheBitOnOneAndThreeRanks() throws IOException {
        JsonNode one = generate("--ranks", "1");
        assertThat(one.size()).isEqualTo(5);
        assertThat(generate("--ranks", "3")).isEqualTo(one);
    }

    @Test
    @Tag("all")
    void isEqualToTheBitOnTwoRanks() throws IOException {
        assertThat(generate("--ranks", "2")).isEqualTo(generate("--ranks", "1"));
    }

    @Test
    @Tag("all")
    void samplesTheSameTokensOnAnyNumberOfRanks() throws IOException {
        JsonNode one = generate("--ranks", "1", "--temperature", "0.8", "--seed", "5");
        assertThat(generate("--ranks", "4", "--temperature", "0.8", "--seed", "5"))
                .isEqualTo(one);
        assertThat(generate("--ranks", "1", "--temperature", "0.8", "--seed", "6"))
                .isNotEqualTo(one);
    }

    @Test
    @Tag("all")
    void goesOnWithoutTheRankOfTheRendezvous() throws IOException {
        JsonNode left = generate("--ranks", "3", "--kill", "0@3");
        assertThat(left.size()).isEqualTo(3);
        for (JsonNode one : left) {
            assertThat(one.path("ids").size()).isEqualTo(6);
        }
    }
}
