package org.ep4j.examples.llm;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Text to token ids and back, by the model's {@code tokenizer.json}. */
final class Texts implements AutoCloseable {
    /** Stands for bytes of a character of which the rest comes with the next tokens. */
    private static final String INCOMPLETE = "\uFFFD";

    private final HuggingFaceTokenizer tokenizer;

    /** @throws ModelException when the file is missing or is no tokenizer */
    Texts(Path folder) {
        Path file = folder.resolve("tokenizer.json");
        if (!Files.exists(file)) {
            throw new ModelException(file + " is missing; it is part of the model's folder on Hugging Face");
        }
        // Else the library looks on the network for a build of itself for the GPU that it sees; the jar has one for the
        // host.
        System.setProperty("RUST_FLAVOR", "cpu");
        try {
            // No truncation: prompts that are too long are refused, not cut.
            tokenizer = HuggingFaceTokenizer.newInstance(
                    file, Map.of("addSpecialTokens", "false", "truncation", "false", "padding", "false"));
        } catch (IOException | RuntimeException e) {
            throw new ModelException(file + " cannot be read: " + e.getMessage(), e);
        }
    }

    List<Integer> ids(String text) {
        return Arrays.stream(tokenizer.encode(text).getIds())
                .mapToObj(Math::toIntExact)
                .toList();
    }

    String text(List<Integer> ids) {
        return tokenizer.decode(ids.stream().mapToLong(Integer::longValue).toArray(), true);
    }

    /** The text of tokens whose characters are complete. */
    String complete(List<Integer> ids) {
        String text = text(ids);
        while (text.endsWith(INCOMPLETE)) {
            text = text.substring(0, text.length() - INCOMPLETE.length());
        }
        return text;
    }

    @Override
    public void close() {
        tokenizer.close();
    }
}
