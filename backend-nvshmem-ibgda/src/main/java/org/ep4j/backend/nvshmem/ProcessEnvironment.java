package org.ep4j.backend.nvshmem;

import com.sun.jna.Native;
import java.util.Map;

/** The environment of the process as native libraries read it. */
final class ProcessEnvironment {
    ProcessEnvironment() {
        Native.register(ProcessEnvironment.class, "c");
    }

    native int setenv(String name, String value, int overwrite);

    /** Sets all; what others set before under other names stays. */
    void set(Map<String, String> variables) {
        variables.forEach((name, value) -> setenv(name, value, 1));
    }
}
