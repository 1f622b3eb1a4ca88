package org.ep4j.gpu.cuda;

import java.util.Locale;
import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.gpu.driver.DriverDeviceProvider;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;

/**
 * NVIDIA GPUs, named {@code cuda:0} and on as the CUDA driver numbers those that the process sees. Codes of its checks:
 *
 * <ul>
 *   <li>{@code EP-CUDA-001} the driver is new enough
 *   <li>{@code EP-CUDA-002} the driver can be called
 *   <li>{@code EP-CUDA-003} the GPU exists, and ep4j supports its architecture
 * </ul>
 */
public final class CudaDeviceProvider extends DriverDeviceProvider {
    /** The oldest driver with all functions that are called: CUDA 11.8. */
    private static final int OLDEST_DRIVER = 11_080;

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public CudaDeviceProvider() {
        super("EP-CUDA-002", "see nvidia-smi");
    }

    @Override
    public String type() {
        return "cuda";
    }

    @Override
    protected GpuDriver load() {
        return CudaDriver.load();
    }

    @Override
    protected void check(ProbeRequest request, ProbeReport.Builder report) {
        CudaDriver driver = CudaDriver.load();
        DriverErrors errors = new DriverErrors(driver);
        errors.check(driver.init(0), "cuInit");
        int version = driver.version();
        String text = version / 1000 + "." + version % 1000 / 10;
        report.fact("driver", text);
        report.check(
                version >= OLDEST_DRIVER
                        ? Check.pass("EP-CUDA-001", "driver for CUDA " + text)
                        : Check.fail(
                                "EP-CUDA-001",
                                "the driver supports CUDA " + text + ", ep4j needs 11.8 or newer",
                                "install driver 520 or newer"));
        Device device = request.device();
        int count = errors.read("cuDeviceGetCount", driver::deviceGetCount);
        report.check(
                device.ordinal() < count
                        ? gpu(driver, errors, device, report)
                        : absent("EP-CUDA-003", device, count, driver));
    }

    private static Check gpu(CudaDriver driver, DriverErrors errors, Device device, ProbeReport.Builder report) {
        int handle = errors.read("cuDeviceGet", out -> driver.deviceGet(out, device.ordinal()));
        String name = errors.readText("cuDeviceGetName", out -> driver.deviceGetName(out, out.length, handle));
        String bus = errors.readText("cuDeviceGetPCIBusId", out -> driver.deviceGetPCIBusId(out, out.length, handle));
        int major = errors.read(
                "cuDeviceGetAttribute",
                out -> driver.deviceGetAttribute(out, CudaDriver.COMPUTE_CAPABILITY_MAJOR, handle));
        int minor = errors.read(
                "cuDeviceGetAttribute",
                out -> driver.deviceGetAttribute(out, CudaDriver.COMPUTE_CAPABILITY_MINOR, handle));
        String architecture = "sm_" + major + minor;
        report.fact("architecture", architecture);
        report.fact("bus", bus.toLowerCase(Locale.ROOT));
        String detail = device + " is " + name + ", " + architecture + ", at " + bus;
        return major >= 8
                ? Check.pass("EP-CUDA-003", detail)
                : Check.warn("EP-CUDA-003", detail + ", older than sm_80", "use an Ampere GPU or newer");
    }

    @Override
    public EpDevice open(Device device) {
        return new CudaDevice(CudaDriver.load(), device.ordinal());
    }
}
