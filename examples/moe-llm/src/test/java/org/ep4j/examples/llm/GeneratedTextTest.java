package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Whole runs with a small trained model, compared with what the transformers library computes. */
@Tag("verify")
final class GeneratedTextTest {
    private static final Path MODEL = Path.of("../../../shared/models/tiny-qwen3-moe");
    private static final String FLOAT32 = "float32";

    @TempDir
    private Path folder;

    private final List<JsonNode> references = new ArrayList<>();

    @BeforeEach
    void readReferences() throws IOException {
        boolean there = Files.exists(MODEL.resolve("reference.json"));
        if (!there) {
            System.out.println("skipped: no small model at " + MODEL);
        }
        assumeTrue(there, "no small model");
        JsonMapper.shared()
                .readTree(Files.readAllBytes(MODEL.resolve("reference.json")))
                .path("cases")
                .forEach(references::add);
    }

    private JsonNode generate(String... options) throws IOException {
        Path prompts = folder.resolve("prompts.json");
        Files.writeString(
                prompts,
                JsonMapper.shared()
                        .writeValueAsString(references.stream()
                                .filter(one -> one.path("dtype").asString().equals(FLOAT32))
                                .map(one -> one.path("prompt").asString())
                                .toList()));
        Path out = folder.resolve("out.json");
        List<String> all = new ArrayList<>(
                List.of("--model", MODEL.toString(), "--prompts", prompts.toString(), "--json", out.toString()));
        all.addAll(List.of(options));
        assertThat(MoeLlm.run(all.toArray(String[]::new))).isZero();
        return JsonMapper.shared().readTree(Files.readAllBytes(out));
    }

    /** @param precision of the references to compare with */
    private void check(JsonNode generated, String precision, double tolerance) {
        int compared = 0;
        for (JsonNode one : generated) {
            for (JsonNode reference : references) {
                if (reference.path("prompt").equals(one.path("prompt"))
                        && reference.path("dtype").asString().equals(precision)) {
                    assertThat(one.path("promptIds")).isEqualTo(reference.path("ids"));
                    assertThat(one.path("ids")).isEqualTo(reference.path("greedy_ids"));
                    assertThat(one.path("text")).isEqualTo(reference.path("greedy_text"));
                    assertThat(difference(one.path("logitsAfterPrompt"), reference.path("logits_after_prompt")))
                            .isLessThan(tolerance);
                    compared++;
                }
            }
        }
        assertThat(compared).isEqualTo(4);
    }

    private static double difference(JsonNode a, JsonNode b) {
        assertThat(a.size()).isEqualTo(b.size());
        double largest = 0;
        for (int i = 0; i < a.size(); i++) {
            largest =
                    Math.max(largest, Math.abs(a.path(i).asDouble() - b.path(i).asDouble()));
        }
        return largest;
    }

    @Test
    void writesWhatTheReferenceWritesOnTwoRanks() throws IOException {
        JsonNode generated = generate("--ranks", "2");
        check(generated, FLOAT32, 0.3);
        check(generated, "bfloat16", 0.6);
    }

    @Test
    void isWithinAThousandthWithoutExchange() throws IOException {
        check(generate("--ranks", "1", "--no-exchange"), FLOAT32, 1e-3);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4})
    @Tag("all")
    void writesTheSameOnAnyNumberOfRanks(int ranks) throws IOException {
        JsonNode generated = generate("--ranks", Integer.toString(ranks));
        check(generated, FLOAT32, 0.3);
        assertThat(generated).isEqualTo(generate("--ranks", "2"));
    }

    /** Prompts 0 and 3 are rank 0's, prompt 2 is rank 2's; prompt 1 ends with rank 1. */
    @Test
    @Tag("all")
    void goesOnWithoutARankThatIsKilled() throws IOException {
        JsonNode generated = generate("--ranks", "3", "--kill", "1@20");
        assertThat(generated.size()).isEqualTo(3);
        for (JsonNode one : generated) {
            assertThat(one.path("ids").size()).isEqualTo(64);
            // Up to the loss all experts were there.
            JsonNode reference = references.stream()
                    .filter(r -> r.path("prompt").equals(one.path("prompt")))
                    .findFirst()
                    .orElseThrow();
            for (int i = 0; i < 19; i++) {
                assertThat(one.path("ids").path(i))
                        .isEqualTo(reference.path("greedy_ids").path(i));
            }
        }
    }
}
