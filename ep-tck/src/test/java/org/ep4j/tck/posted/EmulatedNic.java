package org.ep4j.tck.posted;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import org.ep4j.DeviceMemory;

/** Writes of a NIC to memory of an emulated GPU, which sees them as late as the type of GPU allows. */
final class EmulatedNic {
    private final Function write =
            NativeLibrary.getInstance(System.getenv("EP_CUDA_DRIVER")).getFunction("emulatedNicWrite");

    /** Copies by host addresses, which are valid for emulated GPUs, too. */
    void write(DeviceMemory target, DeviceMemory source) {
        write.invokeInt(new Object[] {target.address(), source.address(), source.byteSize()});
    }
}
