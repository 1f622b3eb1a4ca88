package org.ep4j.engine.cuda;

import net.jqwik.api.lifecycle.LifecycleContext;
import net.jqwik.api.lifecycle.SkipExecutionHook;

/** {@link EmulatedCuda#require} for classes with properties: jqwik takes a failed assumption for an error. */
public final class SkipWithoutEmulator implements SkipExecutionHook {
    @Override
    public SkipResult shouldBeSkipped(LifecycleContext context) {
        if (EmulatedCuda.required()) {
            return SkipResult.doNotSkip();
        }
        return EmulatedCuda.missing().map(this::skip).orElse(SkipResult.doNotSkip());
    }

    private SkipResult skip(String reason) {
        System.out.println("skipped: " + reason);
        return SkipResult.skip(reason);
    }
}
