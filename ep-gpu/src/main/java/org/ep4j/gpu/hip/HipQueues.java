package org.ep4j.gpu.hip;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.spi.Check;

/**
 * The hardware queues that HIP puts the streams of a process on: at most so many a GPU as {@value #VARIABLE} says, and streams beyond them
 * share. A kernel in a queue begins when all before it in that queue have ended, whatever stream they are of; one that waits for
 * other ranks so holds up work that these may wait for.
 */
final class HipQueues {
    /** Read by HIP when the process first uses it. */
    static final String VARIABLE = "GPU_MAX_HW_QUEUES";

    /** HIP's own. */
    private static final int DEFAULT = 4;

    /** Two buffers with a stream for operations and one for copies each, one for memory, stream 0, and the application's. */
    private static final int ENOUGH = 8;

    private HipQueues() {}

    /** Whether a rank of one process has a queue for each of its streams. */
    static Check check(Map<String, String> environment, Device device) {
        int queues = queues(environment.getOrDefault(VARIABLE, ""));
        String detail = queues + " hardware queues of " + device + " for the streams of this process ("
                + (environment.containsKey(VARIABLE) ? VARIABLE + "=" + environment.get(VARIABLE) : "HIP's default")
                + ")";
        return queues >= ENOUGH
                ? Check.pass("EP-HIP-005", detail)
                : Check.warn(
                        "EP-HIP-005",
                        detail
                                + "; further streams share a queue, and a kernel that waits for other ranks delays the work behind it",
                        "set " + VARIABLE + "=" + ENOUGH
                                + " or more before the process starts; if several ranks of the process share a GPU, allow "
                                + DEFAULT
                                + " queues for each rank");
    }

    private static int queues(String value) {
        try {
            return Math.max(1, Integer.parseInt(value.strip()));
        } catch (NumberFormatException e) {
            return DEFAULT;
        }
    }
}
