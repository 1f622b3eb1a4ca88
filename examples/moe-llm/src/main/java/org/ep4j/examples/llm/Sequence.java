package org.ep4j.examples.llm;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** A prompt and what follows it. */
final class Sequence {
    private final int index;
    private final List<Integer> prompt;
    private final List<Integer> generated = new ArrayList<>();
    private final int longest;
    private float[] logitsAfterPrompt = {};
    private final Set<Integer> endOfText;

    /**
     * A prompt that nothing follows yet.
     *
     * @param index number of the prompt among all prompts
     * @param tokens most tokens to generate
     */
    Sequence(int index, List<Integer> prompt, int tokens, ModelConfig config) {
        this.index = index;
        this.prompt = List.copyOf(prompt);
        this.endOfText = config.endOfText();
        this.longest = prompt.size() + tokens;
    }

    int index() {
        return index;
    }

    List<Integer> prompt() {
        return prompt;
    }

    List<Integer> generated() {
        return generated;
    }

    /** Token at a position, of the prompt or after it. */
    int token(int position) {
        return position < prompt.size() ? prompt.get(position) : generated.get(position - prompt.size());
    }

    /** Most tokens, those of the prompt among them. */
    int longest() {
        return longest;
    }

    /** Logits with which the first token was chosen. */
    float[] logitsAfterPrompt() {
        return logitsAfterPrompt;
    }

    /** Whether a token follows the one at this place after the prompt. */
    boolean goesOn(int place) {
        return place < generated.size() && !endOfText.contains(generated.get(place));
    }

    /**
     * Chooses the token at a place after the prompt, unless an earlier run of the same step has.
     *
     * @param temperature 0 for the largest logit
     * @return whether the token is new
     */
    boolean choose(int place, float[] logits, float temperature, long seed) {
        if (place < generated.size()) {
            return false;
        }
        if (place == 0) {
            logitsAfterPrompt = logits;
        }
        generated.add(
                temperature == 0
                        ? largest(logits)
                        : sample(logits, temperature, seed + 31L * index + 1_000_003L * place));
        return true;
    }

    private static int largest(float[] logits) {
        int best = 0;
        for (int i = 1; i < logits.length; i++) {
            if (logits[i] > logits[best]) {
                best = i;
            }
        }
        return best;
    }

    private static int sample(float[] logits, float temperature, long seed) {
        float highest = logits[largest(logits)];
        double[] weights = new double[logits.length];
        double sum = 0;
        for (int i = 0; i < logits.length; i++) {
            weights[i] = Math.exp((logits[i] - highest) / temperature);
            sum += weights[i];
        }
        double left = new SplittableRandom(seed).nextDouble() * sum;
        for (int i = 0; i < logits.length; i++) {
            left -= weights[i];
            if (left < 0) {
                return i;
            }
        }
        return largest(logits);
    }
}
