package org.ep4j.gpu.hip;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.GpuDriver;

/**
 * {@code hipDeviceProp_t} of {@code hip_runtime_api.h}, of which only the architecture's name is needed: no attribute tells it.
 * ROCm 6 changed the structure and gave the call that fills the new one another name.
 */
record HipProperties(String function, int bytes, int architectureAt) {
    /** Since ROCm 6: {@code hipDeviceProp_tR0600}. */
    static final HipProperties R0600 = new HipProperties("hipGetDevicePropertiesR0600", 1472, 1160);

    /** ROCm 5. */
    static final HipProperties R0000 = new HipProperties("hipGetDeviceProperties", 792, 396);

    private static final int TEXT_BYTES = 256;

    /** A runtime that is newer than this may write more. */
    private static final int SPARE_BYTES = 4096;

    /** {@code gfx942:sramecc+:xnack-}. */
    static String architecture(NativeLibrary library, int device) {
        HipProperties layout = layout(library);
        try (Memory memory = new Memory(layout.bytes + SPARE_BYTES)) {
            memory.clear();
            int result = library.getFunction(layout.function).invokeInt(new Object[] {memory, device});
            byte[] text = memory.getByteArray(layout.architectureAt, TEXT_BYTES);
            String name = GpuDriver.text(text);
            if (result != 0 || !name.matches("gfx[0-9a-f]{3,}(:[a-z]+[+-])*")) {
                throw new EpException(layout.function + " of hip:" + device + " gives " + result + " and \""
                        + name.replaceAll("[^ -~]", "?") + "\", expected 0 and a name like gfx942:sramecc+:xnack-; see"
                        + " rocminfo");
            }
            return name;
        }
    }

    private static HipProperties layout(NativeLibrary library) {
        try {
            Function there = library.getFunction(R0600.function);
            return there.getName().isEmpty() ? R0000 : R0600;
        } catch (UnsatisfiedLinkError e) {
            return R0000;
        }
    }
}
