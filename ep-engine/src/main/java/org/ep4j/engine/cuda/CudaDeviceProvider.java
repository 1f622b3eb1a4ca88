package org.ep4j.engine.cuda;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.engine.driver.DriverErrors;
import org.ep4j.engine.memory.JniLibraryProblem;
import org.ep4j.engine.memory.NativeMethods;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;

/**
 * NVIDIA GPUs, named {@code cuda:0} and on as the CUDA driver numbers those that the process sees. Codes of its checks:
 *
 * <ul>
 *   <li>{@code EP-CUDA-001} the driver is new enough
 *   <li>{@code EP-CUDA-002} the driver can be called
 *   <li>{@code EP-CUDA-003} the GPU exists, and ep4j supports its architecture
 * </ul>
 */
public final class CudaDeviceProvider implements DeviceProvider {
    /** The oldest driver with everything that is called: CUDA 11.8. */
    private static final int OLDEST_DRIVER = 11_080;

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public CudaDeviceProvider() {}

    @Override
    public String type() {
        return "cuda";
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        List<Check> checks = new ArrayList<>();
        Map<String, String> facts = new TreeMap<>();
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            return new ProbeReport(
                    List.of(Check.fail(
                            "EP-CUDA-002", jna.get().message(), jna.get().remedy())),
                    facts);
        }
        try {
            CudaDriver driver = CudaDriver.load();
            DriverErrors errors = new DriverErrors(driver);
            errors.check(driver.cuInit(0), "cuInit");
            int[] version = new int[1];
            errors.check(driver.cuDriverGetVersion(version), "cuDriverGetVersion");
            String text = version[0] / 1000 + "." + version[0] % 1000 / 10;
            facts.put("driver", text);
            checks.add(
                    version[0] >= OLDEST_DRIVER
                            ? Check.pass("EP-CUDA-001", "driver for CUDA " + text)
                            : Check.fail(
                                    "EP-CUDA-001",
                                    "the driver supports CUDA " + text + ", ep4j needs 11.8 or newer",
                                    "install driver 520 or newer"));
            checks.add(gpu(driver, errors, request.device(), facts));
        } catch (EpException e) {
            checks.add(Check.fail("EP-CUDA-002", String.valueOf(e.getMessage()), "see nvidia-smi"));
        }
        return new ProbeReport(checks, facts);
    }

    @Override
    public int count() {
        try {
            CudaDriver driver = CudaDriver.load();
            int[] count = new int[1];
            return driver.cuInit(0) == 0 && driver.cuDeviceGetCount(count) == 0 ? count[0] : 0;
        } catch (EpException e) {
            // The probe says why.
            return 0;
        }
    }

    private static Check gpu(CudaDriver driver, DriverErrors errors, Device device, Map<String, String> facts) {
        int[] count = new int[1];
        errors.check(driver.cuDeviceGetCount(count), "cuDeviceGetCount");
        if (device.ordinal() >= count[0]) {
            return Check.fail(
                    "EP-CUDA-003",
                    device + " does not exist: this process sees " + count[0] + " GPUs",
                    "set ep.device to a lower ordinal, or check CUDA_VISIBLE_DEVICES");
        }
        int[] handle = new int[1];
        errors.check(driver.cuDeviceGet(handle, device.ordinal()), "cuDeviceGet");
        byte[] name = new byte[128];
        errors.check(driver.cuDeviceGetName(name, name.length, handle[0]), "cuDeviceGetName");
        byte[] bus = new byte[32];
        errors.check(driver.cuDeviceGetPCIBusId(bus, bus.length, handle[0]), "cuDeviceGetPCIBusId");
        int[] major = new int[1];
        int[] minor = new int[1];
        errors.check(driver.cuDeviceGetAttribute(major, 75, handle[0]), "cuDeviceGetAttribute");
        errors.check(driver.cuDeviceGetAttribute(minor, 76, handle[0]), "cuDeviceGetAttribute");
        String architecture = "sm_" + major[0] + minor[0];
        facts.put("architecture", architecture);
        facts.put("bus", text(bus).toLowerCase(Locale.ROOT));
        String detail = device + " is " + text(name) + ", " + architecture + ", at " + text(bus);
        return major[0] >= 8
                ? Check.pass("EP-CUDA-003", detail)
                : Check.warn("EP-CUDA-003", detail + ", older than sm_80", "use an Ampere GPU or newer");
    }

    private static String text(byte[] zeroEnded) {
        int end = 0;
        while (end < zeroEnded.length && zeroEnded[end] != 0) {
            end++;
        }
        return new String(zeroEnded, 0, end, StandardCharsets.US_ASCII);
    }

    @Override
    public EpDevice open(Device device) {
        return new CudaDevice(CudaDriver.load(), device.ordinal());
    }
}
