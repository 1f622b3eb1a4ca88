package org.ep4j.gpu.cuda;

import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** {@link EmulatedCuda#require} for whole classes, also for what they do before all tests. */
public final class SkipWithoutEmulator implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        Optional<String> missing = EmulatedCuda.missing();
        if (missing.isEmpty() || EmulatedCuda.required()) {
            return ConditionEvaluationResult.enabled("emulated GPUs are there, or required");
        }
        System.out.println("skipped: " + missing.get());
        return ConditionEvaluationResult.disabled(missing.get());
    }
}
