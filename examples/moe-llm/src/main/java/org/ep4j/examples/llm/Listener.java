package org.ep4j.examples.llm;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a rank says while it works. Calls come from one thread. */
interface Listener {
    /** Layers that have been loaded. */
    void loaded(int layers, int all);

    /** The rank has joined, and generates from now on. */
    void ready(String loops);

    /** One more token of a prompt, and the text that has become certain by it. */
    void token(int prompt, int id, String text);

    /** Ranks were lost, and the others go on from a step. */
    void lost(Set<Integer> ranks, int step);

    /** A prompt is done. */
    void finished(Continuation continuation);

    /** Everything is done. */
    void done(Totals totals);

    /**
     * A prompt and what follows it.
     *
     * @param index of the prompt
     * @param promptIds its tokens
     * @param ids tokens that follow
     * @param text of these
     * @param logitsAfterPrompt from which the first one was chosen
     */
    @SuppressWarnings("ArrayRecordComponent") // not compared, and not copied: these are large
    record Continuation(
            int index, List<Integer> promptIds, List<Integer> ids, String text, float[] logitsAfterPrompt) {}

    /**
     * What a rank took.
     *
     * @param prefillTokens tokens of its prompts
     * @param prefillNanos time of the steps that computed them, which end with the first token of each
     * @param decodeTokens tokens after the first ones
     * @param decodeSteps steps that computed them
     * @param decodeNanos time of these steps
     * @param prefillSpent time of the former by kind of work
     * @param decodeSpent time of the latter by kind of work
     * @param productNanos time of the matrix products of one step of decode alone, measured afterwards
     */
    record Totals(
            long prefillTokens,
            long prefillNanos,
            long decodeTokens,
            long decodeSteps,
            long decodeNanos,
            Map<Spent.Work, Long> prefillSpent,
            Map<Spent.Work, Long> decodeSpent,
            long productNanos) {}
}
