package org.ep4j.engine.gpu;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.time.Duration;
import org.ep4j.gpu.cuda.EmulatedCuda;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.hip.EmulatedHip;

/** Emulated GPUs of the type that the build names: it runs the tests of the engine once for each. */
final class EmulatedGpu {
    /** {@code cuda} or {@code hip}. */
    static final String TYPE = System.getProperty("ep4j.test.gpu", "cuda");

    private EmulatedGpu() {}

    /** Skips the test, or fails it, when there are none. */
    static void require() {
        if (TYPE.equals("hip")) {
            EmulatedHip.require();
        } else {
            EmulatedCuda.require();
        }
    }

    static EngineGpu open(int ordinal) {
        return TYPE.equals("hip") ? EmulatedHip.open(ordinal) : EmulatedCuda.open(ordinal);
    }

    /** Sets the clock forward, or back, for kernels that wait for what others do, on all emulated GPUs of this process. */
    static void pass(Duration time) {
        function("emulatedPass").invokeVoid(new Object[] {time.toNanos()});
    }

    /** How often a kernel that waits has seen that its clock was set. */
    static long looks() {
        return function("emulatedLooks").invokeLong(new Object[0]);
    }

    private static Function function(String name) {
        return NativeLibrary.getInstance(System.getenv("EP_CUDA_DRIVER")).getFunction(name);
    }
}
