package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class ScheduleTest {
    private static final ModelConfig CONFIG = ModelConfig.random(128, 1, 2, 1, 32);

    private static List<Integer> prompt(int tokens) {
        return Collections.nCopies(tokens, 1);
    }

    @Test
    void everyTokenOfAPromptIsInOneStepOfPrefill() {
        List<List<Integer>> prompts = List.of(prompt(300), prompt(1), prompt(600), prompt(5), prompt(200));
        Schedule schedule = Schedule.of(prompts, 2, 10, 2);
        // Rank 0 has 300 + 600 + 200 tokens.
        assertThat(schedule).isEqualTo(new Schedule(5, 9, 2));
        List<Sequence> sequences = new ArrayList<>();
        for (int i = 0; i < prompts.size(); i += 2) {
            sequences.add(new Sequence(i, prompts.get(i), 10, CONFIG));
        }
        int[] next = new int[prompts.size()];
        for (int step = 0; step < schedule.prefillSteps(); step++) {
            int tokens = 0;
            for (Slice slice : Schedule.prefill(sequences, step)) {
                assertThat(slice.position()).isEqualTo(next[slice.sequence().index()]);
                next[slice.sequence().index()] = slice.end();
                tokens += slice.count();
            }
            assertThat(tokens).isLessThanOrEqualTo(Experts.PREFILL_TOKENS);
        }
        assertThat(next).containsExactly(300, 0, 600, 0, 200);
    }

    /** Two layers: 4 operations in a step of prefill, 8 in one of decode with two batches. */
    @ParameterizedTest
    @CsvSource({"0,0,0", "0,1,0", "0,4,0", "0,5,1", "0,8,1", "0,9,2", "0,16,2", "0,17,3", "0,1000,11", "3,8,3", "3,9,4"
    })
    void goesOnWithTheFirstStepThatARankMayNotHaveFinished(int first, long completed, int step) {
        assertThat(new Schedule(2, 10, 2).resume(first, completed, 2)).isEqualTo(step);
    }
}
