package org.ep4j.gpu.driver;

import java.util.Set;
import java.util.function.ToIntFunction;
import org.ep4j.EpException;
import org.ep4j.EpException.Recourse;
import org.ep4j.EpResourceException;

/**
 * Results of driver calls as exceptions that keep the native number beside its name. The numbers here are those of {@code cuda.h} and of
 * {@code hip_runtime_api.h}.
 */
public record DriverErrors(GpuDriver driver) {
    /** An argument is wrong, or a call is not possible now. */
    public static final int INVALID_VALUE = 1;

    /** Memory is short. */
    public static final int OUT_OF_MEMORY = 2;

    /** Nothing has this name. */
    static final int NOT_FOUND = 500;

    /** The work is not done yet. */
    public static final int NOT_READY = 600;

    /** The event was recorded into a graph. */
    public static final int CAPTURED_EVENT = 907;

    /** The access was allowed before. */
    public static final int PEER_ACCESS_ALREADY_ENABLED = 704;

    /**
     * Results after which a process can do no more work on its GPU: ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, CONTAINED, ILLEGAL_ADDRESS,
     * LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, ASSERT, HARDWARE_STACK_ERROR, ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS,
     * INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED, TENSOR_MEMORY_LEAK and MPS_CLIENT_TERMINATED. HIP has some of them, and none of
     * these numbers for something else.
     */
    private static final Set<Integer> BROKEN_CONTEXT =
            Set.of(214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810);

    /**
     * Does nothing for success.
     *
     * @param what the call and what it was for
     * @throws EpResourceException when memory is short
     * @throws EpException otherwise, with {@link Recourse#RESTART_PROCESS} when the context is broken
     */
    public void check(int result, String what) {
        if (result == 0) {
            return;
        }
        String message = what + " failed: " + describe(result);
        if (result == OUT_OF_MEMORY) {
            throw new EpResourceException(message + "; lower the shape's token limits, or free memory on the GPU");
        }
        throw new EpException(message, recourse(result));
    }

    /** Returns what helps after a failure: only a new process, if the context is broken. */
    static Recourse recourse(int result) {
        return BROKEN_CONTEXT.contains(result) ? Recourse.RESTART_PROCESS : Recourse.FIX_CALL;
    }

    /**
     * Reads the number that a call writes.
     *
     * @param what as in {@link #check}
     * @throws EpException as {@link #check}
     */
    public int read(String what, ToIntFunction<int[]> call) {
        int[] number = new int[1];
        check(call.applyAsInt(number), what);
        return number[0];
    }

    /**
     * Reads the text that a call writes, which ends with a zero byte.
     *
     * @param what as in {@link #check}
     * @throws EpException as {@link #check}
     */
    public String readText(String what, ToIntFunction<byte[]> call) {
        byte[] text = new byte[GpuDriver.TEXT_BYTES];
        check(call.applyAsInt(text), what);
        return GpuDriver.text(text);
    }

    /** Name, number and meaning. */
    public String describe(int result) {
        return driver.describe(result);
    }
}
