package org.ep4j.engine.hip;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.driver.DriverErrors;
import org.ep4j.engine.driver.GpuDriver;

/**
 * The GPUs that HIP shows to this process.
 *
 * @param runtime version of the runtime, {@code 6.4}
 * @param all the GPUs, by ordinal
 */
public record HipGpus(String runtime, List<HipGpu> all) {
    /** Copies the list. */
    public HipGpus {
        all = List.copyOf(all);
    }

    /**
     * Looks, and allocates nothing.
     *
     * @throws EpException when there is no runtime, it does not work, or it is too old
     */
    public static HipGpus look() {
        HipRuntime runtime = HipRuntime.load();
        DriverErrors errors = new DriverErrors(runtime);
        errors.check(runtime.init(), "hipInit");
        HipVersion version = runtime.version();
        if (!version.isAtLeast(HipVersion.OLDEST)) {
            throw new EpUnavailableException("HIP " + version + " is older than " + HipVersion.OLDEST
                    + "; install ROCm " + HipVersion.OLDEST + " or newer");
        }
        int count = errors.read("hipGetDeviceCount", runtime::deviceCount);
        List<HipGpu> gpus = new ArrayList<>();
        for (int ordinal = 0; ordinal < count; ordinal++) {
            gpus.add(gpu(runtime, ordinal, count));
        }
        return new HipGpus(version.toString(), gpus);
    }

    private static HipGpu gpu(HipRuntime runtime, int ordinal, int count) {
        Map<Integer, HipGpu.Way> peers = new TreeMap<>();
        for (int other = 0; other < count; other++) {
            if (other != ordinal) {
                peers.put(other, way(runtime, ordinal, other));
            }
        }
        return new HipGpu(
                ordinal, runtime.name(ordinal), runtime.address(ordinal), architecture(runtime, ordinal), peers);
    }

    private static HipGpu.Way way(HipRuntime runtime, int from, int to) {
        int can = GpuDriver.readOr(0, out -> runtime.hipDeviceCanAccessPeer(out, from, to));
        int[] type = new int[1];
        int[] hops = new int[1];
        boolean joined = runtime.hipExtGetLinkTypeAndHopCount(from, to, type, hops) == 0;
        return new HipGpu.Way(can != 0, joined && type[0] == HipRuntime.XGMI, joined ? Math.max(1, hops[0]) : 1);
    }

    private static String architecture(HipRuntime runtime, int ordinal) {
        try {
            return runtime.architecture(ordinal).split(":", -1)[0];
        } catch (EpException e) {
            // The device's own probe says what is wrong.
            return "";
        }
    }
}
