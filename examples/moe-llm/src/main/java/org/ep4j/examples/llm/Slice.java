package org.ep4j.examples.llm;

/**
 * Consecutive tokens of a sequence that one step computes.
 *
 * @param sequence whose tokens
 * @param position of the first
 * @param count of tokens
 */
record Slice(Sequence sequence, int position, int count) {
    int end() {
        return position + count;
    }

    /** Whether the token after it is chosen from its logits, not given by the prompt. */
    boolean choosesNext() {
        return end() >= sequence.prompt().size();
    }
}
