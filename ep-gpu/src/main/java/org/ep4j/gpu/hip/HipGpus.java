package org.ep4j.gpu.hip;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.gpu.hip.HipInstallation.HipVersion;
import org.ep4j.topology.read.Limits;

/** The GPUs that HIP shows to this process. */
public final class HipGpus {
    private static final int ERROR_NO_DEVICE = 100;

    private HipGpus() {}

    /**
     * Lists the GPUs without allocating anything.
     *
     * @throws EpException when there is no runtime, it does not work, or it is too old
     */
    public static VisibleGpus look() {
        HipRuntime runtime = HipRuntime.load();
        DriverErrors errors = new DriverErrors(runtime);
        errors.check(runtime.init(0), "hipInit");
        HipVersion version = runtime.version();
        if (!version.isAtLeast(HipVersion.OLDEST)) {
            throw new EpUnavailableException("HIP " + version + " is older than " + HipVersion.OLDEST
                    + "; install ROCm " + HipVersion.OLDEST + " or newer");
        }
        int count = errors.read("hipGetDeviceCount", runtime::deviceGetCount);
        return new VisibleGpus("HIP " + version, gpus(runtime, count));
    }

    /**
     * Lists the GPUs for a description of the machine, for which a missing runtime is no failure.
     *
     * @return empty when there is no runtime, or it shows no GPU
     * @throws EpException when the runtime cannot be loaded, or does not work
     */
    public static List<VisibleGpu> list() {
        if (HipInstallation.installed(System.getenv(), Path.of("/")).isEmpty()) {
            return List.of();
        }
        HipRuntime runtime = HipRuntime.load();
        int[] count = new int[1];
        int result = runtime.deviceGetCount(count);
        if (result != 0 && result != ERROR_NO_DEVICE) {
            throw new EpException("hipGetDeviceCount gives " + result);
        }
        return result == ERROR_NO_DEVICE ? List.of() : gpus(runtime, Math.min(Limits.GPUS, count[0]));
    }

    private static List<VisibleGpu> gpus(HipRuntime runtime, int count) {
        return IntStream.range(0, count)
                .mapToObj(ordinal -> gpu(runtime, ordinal, count))
                .toList();
    }

    private static VisibleGpu gpu(HipRuntime runtime, int ordinal, int count) {
        Map<Integer, VisibleGpu.Peer> peers = new TreeMap<>();
        for (int other = 0; other < count; other++) {
            if (other != ordinal) {
                peers.put(other, way(runtime, ordinal, other));
            }
        }
        return new VisibleGpu(
                ordinal,
                runtime.name(ordinal),
                runtime.address(ordinal),
                architecture(runtime, ordinal),
                true,
                false,
                peers);
    }

    private static VisibleGpu.Peer way(HipRuntime runtime, int from, int to) {
        int can = GpuDriver.readOr(0, out -> runtime.hipDeviceCanAccessPeer(out, from, to));
        int[] type = new int[1];
        int[] hops = new int[1];
        boolean joined = runtime.hipExtGetLinkTypeAndHopCount(from, to, type, hops) == 0;
        return new VisibleGpu.Peer(can != 0, joined && type[0] == HipRuntime.XGMI, joined ? Math.max(1, hops[0]) : 1);
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
