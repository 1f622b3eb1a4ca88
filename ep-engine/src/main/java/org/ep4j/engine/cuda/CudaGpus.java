package org.ep4j.engine.cuda;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.engine.driver.DriverErrors;
import org.ep4j.topology.PciAddress;

/**
 * The GPUs that the CUDA driver shows to this process.
 *
 * @param driver version of the driver, as 1000 * major + 10 * minor
 * @param all the GPUs, by ordinal
 */
public record CudaGpus(int driver, List<CudaGpu> all) {
    private static final int COMPUTE_CAPABILITY_MAJOR = 75;
    private static final int COMPUTE_CAPABILITY_MINOR = 76;
    private static final int UNIFIED_ADDRESSING = 41;
    private static final int IPC_EVENT_SUPPORTED = 125;
    private static final int HANDLE_TYPE_FABRIC_SUPPORTED = 128;
    private static final int P2P_NATIVE_ATOMIC_SUPPORTED = 3;

    /** Copies the list. */
    public CudaGpus {
        all = List.copyOf(all);
    }

    /**
     * Looks. Makes no context, so it costs the GPUs nothing.
     *
     * @throws org.ep4j.EpException when there is no driver, or it does not work
     */
    public static CudaGpus look() {
        CudaDriver driver = CudaDriver.load();
        DriverErrors errors = new DriverErrors(driver);
        errors.check(driver.cuInit(0), "cuInit");
        int[] version = new int[1];
        errors.check(driver.cuDriverGetVersion(version), "cuDriverGetVersion");
        int[] count = new int[1];
        errors.check(driver.cuDeviceGetCount(count), "cuDeviceGetCount");
        int[] devices = new int[count[0]];
        for (int i = 0; i < devices.length; i++) {
            int[] device = new int[1];
            errors.check(driver.cuDeviceGet(device, i), "cuDeviceGet(" + i + ")");
            devices[i] = device[0];
        }
        List<CudaGpu> gpus = new ArrayList<>();
        for (int i = 0; i < devices.length; i++) {
            gpus.add(gpu(driver, devices, i));
        }
        return new CudaGpus(version[0], gpus);
    }

    private static CudaGpu gpu(CudaDriver driver, int[] devices, int ordinal) {
        int device = devices[ordinal];
        byte[] name = new byte[128];
        boolean named = driver.cuDeviceGetName(name, name.length, device) == 0;
        int unified = attribute(driver, UNIFIED_ADDRESSING, device, 1);
        return new CudaGpu(
                ordinal,
                named ? text(name) : "",
                address(driver, device),
                "sm_" + attribute(driver, COMPUTE_CAPABILITY_MAJOR, device, 0)
                        + attribute(driver, COMPUTE_CAPABILITY_MINOR, device, 0),
                // Older drivers do not know the question; there every GPU with unified addressing can.
                attribute(driver, IPC_EVENT_SUPPORTED, device, unified) != 0,
                attribute(driver, HANDLE_TYPE_FABRIC_SUPPORTED, device, 0) != 0,
                peers(driver, devices, ordinal));
    }

    /** PCI function of a {@code CUdevice}. */
    static Optional<PciAddress> address(CudaDriver driver, int device) {
        byte[] bus = new byte[32];
        return driver.cuDeviceGetPCIBusId(bus, bus.length, device) == 0
                ? PciAddress.parse(text(bus))
                : Optional.empty();
    }

    private static Map<Integer, CudaGpu.Access> peers(CudaDriver driver, int[] devices, int ordinal) {
        Map<Integer, CudaGpu.Access> peers = new TreeMap<>();
        for (int other = 0; other < devices.length; other++) {
            if (other != ordinal) {
                int[] can = new int[1];
                int[] atomics = new int[1];
                boolean known = driver.cuDeviceCanAccessPeer(can, devices[ordinal], devices[other]) == 0;
                boolean told = driver.cuDeviceGetP2PAttribute(
                                atomics, P2P_NATIVE_ATOMIC_SUPPORTED, devices[ordinal], devices[other])
                        == 0;
                peers.put(other, new CudaGpu.Access(known && can[0] != 0, told && atomics[0] != 0));
            }
        }
        return peers;
    }

    private static int attribute(CudaDriver driver, int attribute, int device, int absent) {
        int[] value = new int[1];
        return driver.cuDeviceGetAttribute(value, attribute, device) == 0 ? value[0] : absent;
    }

    private static String text(byte[] zeroEnded) {
        int end = 0;
        while (end < zeroEnded.length && zeroEnded[end] != 0) {
            end++;
        }
        return new String(zeroEnded, 0, end, StandardCharsets.US_ASCII);
    }
}
