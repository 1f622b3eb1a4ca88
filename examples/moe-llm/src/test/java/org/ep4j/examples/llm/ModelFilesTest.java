package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A model that cannot be run is refused in one line that says what is wrong. */
@Tag("verify")
final class ModelFilesTest {
    private static final String CONFIG = """
            {"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64, "num_hidden_layers": 1, "num_experts": 4,
             "num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
             "vocab_size": 8, "rope_theta": 1000000.0, "eos_token_id": [3, 5]}""";

    @TempDir
    private Path folder;

    private void config(String text) throws IOException {
        Files.writeString(folder.resolve("config.json"), text);
    }

    @Test
    void readsTheNamesOfOlderFiles() throws IOException {
        config(CONFIG);
        ModelConfig config = ModelConfig.read(folder);
        assertThat(config.experts()).isEqualTo(4);
        assertThat(config.headDim()).isEqualTo(16);
        assertThat(config.ropeTheta()).isEqualTo(1e6);
        assertThat(config.endOfText()).containsExactlyInAnyOrder(3, 5);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "Qwen3MoeForCausalLM|LlamaForCausalLM|architectures is [LlamaForCausalLM]",
                "\"num_experts\": 4,||num_local_experts is missing",
                "\"num_experts_per_tok\": 2|\"num_experts_per_tok\": 5|num_experts_per_tok is 5 of 4 experts",
                "\"hidden_size\": 64|\"hidden_size\": 72|hidden_size is 72",
                "\"num_key_value_heads\": 2|\"num_key_value_heads\": 3|not a multiple of num_key_value_heads",
                "\"vocab_size\": 8|\"vocab_size\": 8, \"quantization_config\": {}|quantized",
                "\"vocab_size\": 8|\"vocab_size\": 8, \"rope_scaling\": {\"rope_type\": \"yarn\"}|rope_type is yarn",
                "\"vocab_size\": 8|\"vocab_size\": 8, \"mlp_only_layers\": [0]|layers have no experts",
                "}|]|is not JSON",
            })
    void refusesWhatItCannotCompute(String from, String to, String message) throws IOException {
        config(CONFIG.replace(from, to == null ? "" : to));
        assertThatThrownBy(() -> ModelConfig.read(folder))
                .isInstanceOf(ModelException.class)
                .hasMessageContaining("config.json")
                .hasMessageContaining(message);
    }

    private void weights(String name, String header, int bytes) throws IOException {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        ByteBuffer all = ByteBuffer.allocate(8 + text.length + bytes).order(ByteOrder.LITTLE_ENDIAN);
        all.putLong(text.length).put(text);
        for (int i = 0; i < bytes / 2; i++) {
            all.putShort((short) (0x3f80 + i));
        }
        Files.write(folder.resolve(name), all.array());
    }

    @Test
    void mapsTensorsOfSeveralFiles() throws IOException {
        weights("a.safetensors", "{\"x\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[2,10]}}", 10);
        weights("b.safetensors", "{\"y\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4);
        Files.writeString(
                folder.resolve("model.safetensors.index.json"),
                "{\"weight_map\": {\"x\": \"a.safetensors\", \"y\": \"b.safetensors\"}}");
        try (Safetensors files = Safetensors.open(folder)) {
            Matrix x = Matrix.of(2, 2, files.bytes("x", 2, 2));
            float[] row = new float[2];
            x.row(1, row, 0);
            assertThat(row).containsExactly(Float.intBitsToFloat(0x3f83 << 16), Float.intBitsToFloat(0x3f84 << 16));
            assertThat(Matrix.of(1, 2, files.bytes("y", 1, 2)).vector())
                    .containsExactly(1, Float.intBitsToFloat(0x3f81 << 16));
            assertThatThrownBy(() -> files.require("x", 1, 4)).hasMessageContaining("BF16[2, 2], expected BF16[4]");
            assertThatThrownBy(() -> files.require("z", 1, 4)).hasMessageContaining("lack z");
        }
    }

    @Test
    void namesTheFileThatIsMissingOrCutOff() throws IOException {
        assertThatThrownBy(() -> Safetensors.open(folder)).hasMessageContaining("neither model.safetensors nor");
        weights("model.safetensors", "{\"x\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 2);
        assertThatThrownBy(() -> Safetensors.open(folder)).hasMessageContaining("is cut off: x ends at byte");
        Files.writeString(folder.resolve("model.safetensors"), "version https://git-lfs.github.com/spec/v1");
        assertThatThrownBy(() -> Safetensors.open(folder)).hasMessageContaining("git lfs pull");
        Files.writeString(
                folder.resolve("model.safetensors.index.json"), "{\"weight_map\": {\"x\": \"gone.safetensors\"}}");
        assertThatThrownBy(() -> Safetensors.open(folder)).hasMessageContaining("gone.safetensors is missing");
    }

    @Test
    void exitsWithTwo() throws IOException {
        config(CONFIG);
        assertThat(MoeLlm.run("--model", folder.toString(), "--prompt", "x")).isEqualTo(2);
        assertThat(MoeLlm.run("--ranks", "0")).isEqualTo(2);
        assertThat(MoeLlm.run("--ranks", "2", "--no-exchange")).isEqualTo(2);
        assertThat(MoeLlm.run("--ranks", "2", "--kill", "2@1")).isEqualTo(2);
    }
}
