package org.ep4j.backend.nvshmem;

import java.util.Map;
import org.ep4j.engine.memory.NativeMethods;

/** The environment of the process as native libraries read it. */
final class ProcessEnvironment {
    ProcessEnvironment() {
        NativeMethods.bindToC(ProcessEnvironment.class);
    }

    native int setenv(String name, String value, int overwrite);

    /** Sets all; what others set before under other names stays. */
    void set(Map<String, String> variables) {
        variables.forEach((name, value) -> setenv(name, value, 1));
    }
}
