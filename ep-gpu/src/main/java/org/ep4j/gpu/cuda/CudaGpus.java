package org.ep4j.gpu.cuda;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;

/** The GPUs that the CUDA driver shows to this process. */
public final class CudaGpus {
    private static final int UNIFIED_ADDRESSING = 41;
    private static final int IPC_EVENT_SUPPORTED = 125;
    private static final int HANDLE_TYPE_FABRIC_SUPPORTED = 128;
    private static final int P2P_NATIVE_ATOMIC_SUPPORTED = 3;

    private CudaGpus() {}

    /**
     * Lists the GPUs without creating a context.
     *
     * @throws org.ep4j.EpException when there is no driver, or it does not work
     */
    public static VisibleGpus look() {
        CudaDriver driver = CudaDriver.load();
        DriverErrors errors = new DriverErrors(driver);
        errors.check(driver.init(0), "cuInit");
        int version = driver.version();
        int[] devices = new int[errors.read("cuDeviceGetCount", driver::deviceGetCount)];
        Arrays.setAll(devices, i -> errors.read("cuDeviceGet(" + i + ")", out -> driver.deviceGet(out, i)));
        List<VisibleGpu> gpus = IntStream.range(0, devices.length)
                .mapToObj(i -> gpu(driver, devices, i))
                .toList();
        return new VisibleGpus("driver for CUDA " + version / 1000 + "." + version % 1000 / 10, gpus);
    }

    private static VisibleGpu gpu(CudaDriver driver, int[] devices, int ordinal) {
        int device = devices[ordinal];
        int unified = driver.attributeOr(1, UNIFIED_ADDRESSING, device);
        return new VisibleGpu(
                ordinal,
                driver.name(device),
                driver.address(device),
                "sm_" + driver.attributeOr(0, CudaDriver.COMPUTE_CAPABILITY_MAJOR, device)
                        + driver.attributeOr(0, CudaDriver.COMPUTE_CAPABILITY_MINOR, device),
                // Older drivers do not know the attribute; there every GPU with unified addressing can.
                driver.attributeOr(unified, IPC_EVENT_SUPPORTED, device) != 0,
                driver.attributeOr(0, HANDLE_TYPE_FABRIC_SUPPORTED, device) != 0,
                peers(driver, devices, ordinal));
    }

    private static Map<Integer, VisibleGpu.Peer> peers(CudaDriver driver, int[] devices, int ordinal) {
        int device = devices[ordinal];
        Map<Integer, VisibleGpu.Peer> peers = new TreeMap<>();
        for (int other = 0; other < devices.length; other++) {
            if (other != ordinal) {
                int peer = devices[other];
                int can = GpuDriver.readOr(0, out -> driver.cuDeviceCanAccessPeer(out, device, peer));
                int atomics = GpuDriver.readOr(
                        0, out -> driver.cuDeviceGetP2PAttribute(out, P2P_NATIVE_ATOMIC_SUPPORTED, device, peer));
                peers.put(other, new VisibleGpu.Peer(can != 0, atomics != 0, 1));
            }
        }
        return peers;
    }
}
