package org.ep4j.engine.cuda;

import org.ep4j.EpException;
import org.ep4j.EpResourceException;

/** Results of driver calls as exceptions that keep the native number beside its name. */
final class CudaErrors {
    static final int INVALID_VALUE = 1;
    static final int OUT_OF_MEMORY = 2;
    static final int NOT_READY = 600;
    static final int CAPTURED_EVENT = 907;
    static final int PEER_ACCESS_ALREADY_ENABLED = 704;

    private final CudaDriver driver;

    CudaErrors(CudaDriver driver) {
        this.driver = driver;
    }

    /**
     * Does nothing for {@code CUDA_SUCCESS}.
     *
     * @param what the call and what it was for
     * @throws EpResourceException when memory is short
     * @throws EpException otherwise
     */
    void check(int result, String what) {
        if (result == 0) {
            return;
        }
        String message = what + " failed: " + describe(result);
        if (result == OUT_OF_MEMORY) {
            throw new EpResourceException(message + "; lower the shape's token limits, or free memory on the GPU");
        }
        throw new EpException(message);
    }

    /** {@code CUDA_ERROR_INVALID_VALUE (1, invalid argument)}. */
    String describe(int result) {
        long[] text = new long[1];
        String name = driver.cuGetErrorName(result, text) == 0 ? CudaDriver.text(text[0]) : "";
        String meaning = driver.cuGetErrorString(result, text) == 0 ? CudaDriver.text(text[0]) : "";
        return (name.isEmpty() ? "CUresult" : name) + " (" + result + (meaning.isEmpty() ? "" : ", " + meaning) + ")";
    }
}
