package org.ep4j.tck.posted;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import org.ep4j.DeviceMemory;

/** How a NIC writes into memory of an emulated GPU, which sees it as late as the kind of GPU allows. */
final class EmulatedNic {
    private final Function write =
            NativeLibrary.getInstance(System.getenv("EP_CUDA_DRIVER")).getFunction("emulatedNicWrite");

    /** Copies, by addresses of the host, which those of emulated GPUs are. */
    void write(DeviceMemory target, DeviceMemory source) {
        write.invokeInt(new Object[] {target.address(), source.address(), source.byteSize()});
    }
}
