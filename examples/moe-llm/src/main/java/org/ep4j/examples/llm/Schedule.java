package org.ep4j.examples.llm;

import java.util.ArrayList;
import java.util.List;

/**
 * The steps that every rank takes. Prompt i is rank i % ranks'. All ranks know all prompts, so all compute the same numbers:
 * exchanges are collective, and a rank that has no tokens in a step takes part in it with none.
 *
 * @param prefillSteps steps in which the prompts are computed
 * @param decodeSteps steps in which each sequence gets one more token
 * @param batches batches of a decode step
 */
record Schedule(int prefillSteps, int decodeSteps, int batches) {
    /**
     * Computes the numbers of steps.
     *
     * @param batches of a decode step at most; one where no rank has two prompts
     */
    static Schedule of(List<List<Integer>> prompts, int ranks, int tokens, int batches) {
        int prefill = 0;
        int most = 0;
        for (int rank = 0; rank < ranks; rank++) {
            int sum = 0;
            int sequences = 0;
            for (int i = rank; i < prompts.size(); i += ranks) {
                sum += prompts.get(i).size();
                sequences++;
            }
            prefill = Math.max(prefill, (sum + Experts.PREFILL_TOKENS - 1) / Experts.PREFILL_TOKENS);
            most = Math.max(most, sequences);
        }
        return new Schedule(prefill, tokens - 1, Math.min(most, batches));
    }

    int steps() {
        return prefillSteps + decodeSteps;
    }

    boolean isPrefill(int step) {
        return step < prefillSteps;
    }

    /** Dispatches and combines of a step on the buffer. */
    long operations(int step, int layers) {
        return 2L * layers * (isPrefill(step) ? 1 : batches);
    }

    /** Tokens of a prefill step: as many as fit, sequence by sequence. */
    static List<Slice> prefill(List<Sequence> sequences, int step) {
        List<Slice> slices = new ArrayList<>();
        int from = step * Experts.PREFILL_TOKENS;
        int to = from + Experts.PREFILL_TOKENS;
        int start = 0;
        for (Sequence sequence : sequences) {
            int end = start + sequence.prompt().size();
            int first = Math.max(from, start);
            int last = Math.min(to, end);
            if (first < last) {
                slices.add(new Slice(sequence, first - start, last - first));
            }
            start = end;
        }
        return slices;
    }

    /** The last token of each sequence that goes on, in as many batches as every rank has. */
    List<List<Slice>> decode(List<Sequence> sequences, int step) {
        List<List<Slice>> all = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
            all.add(new ArrayList<>());
        }
        int place = step - prefillSteps;
        for (int i = 0; i < sequences.size(); i++) {
            Sequence sequence = sequences.get(i);
            if (sequence.goesOn(place)) {
                all.get(i % batches).add(new Slice(sequence, sequence.prompt().size() + place, 1));
            }
        }
        return all;
    }

    /**
     * The step from which all survivors go on after a recovery.
     *
     * @param first step with which counting began
     * @param completed operations of the slowest survivor since then; with the hook one counts when it has sent
     */
    int resume(int first, long completed, int layers) {
        int step = first;
        long left = completed;
        // A rank sends in a step only after it has received all of the step before.
        while (step < steps() - 1 && left > operations(step, layers)) {
            left -= operations(step, layers);
            step++;
        }
        return step;
    }
}
