package org.ep4j.examples.llm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.core.JacksonException;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The shape of a Qwen3MoeForCausalLM model.
 *
 * @param hidden elements of a token's row
 * @param layers decoder layers, all of them with experts
 * @param experts experts of a layer
 * @param topK experts that a token is sent to
 * @param expertHidden rows of an expert's gate and up projections
 * @param heads attention heads
 * @param kvHeads heads of keys and values, each shared by {@code heads / kvHeads} attention heads
 * @param headDim elements of a head
 * @param vocabulary token ids
 * @param ropeTheta base of the rotary embedding
 * @param epsilon added to the mean of squares in RMSNorm
 * @param normalizeTopK whether the router's weights of the chosen experts are scaled to a sum of 1
 * @param tiedEmbeddings whether the output projection is the embedding
 * @param longest most tokens of a prompt and its continuation
 * @param endOfText token ids that end a text
 */
record ModelConfig(
        int hidden,
        int layers,
        int experts,
        int topK,
        int expertHidden,
        int heads,
        int kvHeads,
        int headDim,
        int vocabulary,
        double ropeTheta,
        double epsilon,
        boolean normalizeTopK,
        boolean tiedEmbeddings,
        int longest,
        Set<Integer> endOfText) {
    static final String ARCHITECTURE = "Qwen3MoeForCausalLM";

    ModelConfig {
        endOfText = Set.copyOf(endOfText);
    }

    /** The shape of the random model: one which needs no download for a measurement. */
    static ModelConfig random(int hidden, int layers, int experts, int topK, int vocabulary) {
        int headDim = 64;
        int heads = hidden / headDim;
        return new ModelConfig(
                hidden,
                layers,
                experts,
                topK,
                hidden / 2,
                heads,
                Math.max(1, heads / 4),
                headDim,
                vocabulary,
                1e6,
                1e-6,
                true,
                false,
                4096,
                Set.of());
    }

    /**
     * Reads {@code config.json} and {@code generation_config.json}.
     *
     * @throws ModelException when a file or a field is missing, or the model needs what this program does not have
     */
    static ModelConfig read(Path folder) {
        Path file = folder.resolve("config.json");
        JsonNode json = parse(file);
        List<String> architectures =
                json.path("architectures").valueStream().map(JsonNode::asString).toList();
        require(
                architectures.contains(ARCHITECTURE),
                file,
                "architectures is " + architectures + ", but this program runs only " + ARCHITECTURE);
        Fields fields = new Fields(file, json);
        require(fields.text("hidden_act", "silu").equals("silu"), file, "hidden_act is not silu");
        require(
                !fields.flag("attention_bias", false),
                file,
                "attention_bias is true; projections with a bias are not supported");
        require(
                !fields.flag("use_sliding_window", false),
                file,
                "use_sliding_window is true; only attention over all tokens is supported");
        require(
                fields.integer("decoder_sparse_step", 1) == 1
                        && json.path("mlp_only_layers").isEmpty(),
                file,
                "some layers have no experts (decoder_sparse_step, mlp_only_layers), which is not supported");
        require(
                !json.has("quantization_config"),
                file,
                "the weights are quantized (quantization_config); use the bfloat16 files of the model");
        JsonNode rope = json.path("rope_parameters").isObject() ? json.path("rope_parameters") : json;
        JsonNode scaling = json.path("rope_scaling");
        String ropeType =
                rope.path("rope_type").asString(scaling.path("rope_type").asString("default"));
        require(ropeType.equals("default"), file, "rope_type is " + ropeType + "; only default is supported");
        int heads = fields.integer("num_attention_heads");
        int hidden = fields.integer("hidden_size");
        ModelConfig config = new ModelConfig(
                hidden,
                fields.integer("num_hidden_layers"),
                json.has("num_experts") ? fields.integer("num_experts") : fields.integer("num_local_experts"),
                fields.integer("num_experts_per_tok"),
                fields.integer("moe_intermediate_size"),
                heads,
                fields.integer("num_key_value_heads"),
                fields.integer("head_dim", hidden / heads),
                fields.integer("vocab_size"),
                rope.path("rope_theta").asDouble(10_000),
                json.path("rms_norm_eps").asDouble(1e-6),
                fields.flag("norm_topk_prob", false),
                fields.flag("tie_word_embeddings", false),
                fields.integer("max_position_embeddings", 4096),
                endOfText(folder, json));
        config.check(file);
        return config;
    }

    private void check(Path file) {
        require(hidden % 16 == 0, file, "hidden_size is " + hidden + "; it must be a multiple of 16");
        require(
                expertHidden % 2 == 0 && headDim % 2 == 0,
                file,
                "moe_intermediate_size is " + expertHidden + " and head_dim is " + headDim + "; both must be even");
        require(
                topK >= 1 && topK <= experts,
                file,
                "num_experts_per_tok is " + topK + " of " + experts
                        + " experts; it must be at least 1, and at most the number of experts");
        require(
                kvHeads >= 1 && heads % kvHeads == 0,
                file,
                "num_attention_heads is " + heads + ", which is not a multiple of num_key_value_heads, " + kvHeads);
    }

    private static Set<Integer> endOfText(Path folder, JsonNode config) {
        Set<Integer> ids = new HashSet<>();
        Optional<JsonNode> generation = Optional.of(folder.resolve("generation_config.json"))
                .filter(Files::exists)
                .map(ModelConfig::parse);
        JsonNode found = generation
                .map(g -> g.path("eos_token_id"))
                .filter(n -> !n.isMissingNode())
                .orElse(config.path("eos_token_id"));
        if (found.isArray()) {
            found.forEach(id -> ids.add(id.asInt()));
        } else if (found.isNumber()) {
            ids.add(found.asInt());
        }
        return new TreeSet<>(ids);
    }

    private static JsonNode parse(Path file) {
        try {
            return JsonMapper.shared().readTree(Files.readAllBytes(file));
        } catch (NoSuchFileException e) {
            throw new ModelException(file + " is missing; --model must be the folder of a model from Hugging Face", e);
        } catch (IOException e) {
            throw new ModelException(file + " cannot be read: " + e.getMessage(), e);
        } catch (JacksonException e) {
            throw new ModelException(file + " is not JSON" + place(e) + "; download it again", e);
        }
    }

    private static String place(JacksonException e) {
        TokenStreamLocation place = e.getLocation();
        return place == null ? "" : " at line " + place.getLineNr() + ", column " + place.getColumnNr();
    }

    private static void require(boolean holds, Path file, String otherwise) {
        if (!holds) {
            throw new ModelException(file + ": " + otherwise);
        }
    }

    private record Fields(Path file, JsonNode json) {
        int integer(String name) {
            require(json.path(name).isIntegralNumber(), file, "the field " + name + " is missing or not an integer");
            return json.path(name).asInt();
        }

        int integer(String name, int otherwise) {
            return json.path(name).isIntegralNumber() ? json.path(name).asInt() : otherwise;
        }

        boolean flag(String name, boolean otherwise) {
            return json.path(name).isBoolean() ? json.path(name).asBoolean() : otherwise;
        }

        String text(String name, String otherwise) {
            return json.path(name).isString() ? json.path(name).asString() : otherwise;
        }
    }
}
