package org.ep4j.gpu.hip;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.DriverDeviceProvider;
import org.ep4j.gpu.driver.DriverErrors;
import org.ep4j.gpu.driver.GpuDriver;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.gpu.hip.HipInstallation.HipVersion;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;

/**
 * AMD GPUs, named {@code hip:0} and on as HIP numbers those that the process sees; a GPU that is divided is as many as it has
 * partitions. Codes of its checks:
 *
 * <ul>
 *   <li>{@code EP-HIP-001} the runtime is new enough
 *   <li>{@code EP-HIP-002} the runtime can be called
 *   <li>{@code EP-HIP-003} the GPU exists, and ep4j supports its architecture
 *   <li>{@code EP-HIP-004} kernels can be compiled for the GPU
 *   <li>{@code EP-HIP-005} there are enough hardware queues for the streams of this process
 * </ul>
 */
public final class HipDeviceProvider extends DriverDeviceProvider {
    /** Read by HIP when the process first uses it. */
    static final String QUEUES_VARIABLE = "GPU_MAX_HW_QUEUES";

    /** HIP's own. */
    private static final int DEFAULT_QUEUES = 4;

    /** Queues for two buffers with a stream for operations and one for copies each, one for memory, stream 0, and the application's. */
    private static final int ENOUGH_QUEUES = 8;

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public HipDeviceProvider() {
        super(
                "EP-HIP-002",
                "see rocminfo; the user must be in the groups that may open /dev/kfd and /dev/dri/renderD*");
    }

    @Override
    public String type() {
        return "hip";
    }

    @Override
    protected GpuDriver load() {
        return HipRuntime.load();
    }

    @Override
    protected void check(ProbeRequest request, ProbeReport.Builder report) {
        HipRuntime runtime = HipRuntime.load();
        DriverErrors errors = new DriverErrors(runtime);
        errors.check(runtime.init(0), "hipInit");
        HipVersion version = runtime.version();
        report.fact("runtime", version.toString());
        report.check(
                version.isAtLeast(HipVersion.OLDEST)
                        ? Check.pass("EP-HIP-001", "HIP " + version)
                        : Check.fail(
                                "EP-HIP-001",
                                "HIP " + version + ", ep4j needs " + HipVersion.OLDEST + " or newer",
                                "install ROCm " + HipVersion.OLDEST + " or newer"));
        Device device = request.device();
        int count = errors.read("hipGetDeviceCount", runtime::deviceGetCount);
        if (device.ordinal() < count) {
            gpu(runtime, errors, device, request.timeout(), report);
        } else {
            report.check(absent("EP-HIP-003", device, count, runtime));
        }
    }

    private static void gpu(
            HipRuntime runtime, DriverErrors errors, Device device, Duration timeout, ProbeReport.Builder report) {
        int ordinal = device.ordinal();
        String name = errors.readText("hipDeviceGetName", out -> runtime.deviceGetName(out, out.length, ordinal));
        String bus =
                errors.readText("hipDeviceGetPCIBusId", out -> runtime.deviceGetPCIBusId(out, out.length, ordinal));
        String architecture = runtime.architecture(ordinal);
        report.fact("architecture", HipArchitecture.target(architecture));
        report.fact("bus", bus.toLowerCase(Locale.ROOT));
        String detail = device + " is " + name + ", " + architecture + ", at " + bus;
        Check gpu = HipArchitecture.of(architecture).isPresent()
                ? Check.pass("EP-HIP-003", detail)
                : Check.warn(
                        "EP-HIP-003",
                        detail,
                        "ep4j is made for " + HipArchitecture.served()
                                + " and was never tested on this architecture: before you use this GPU,"
                                + " run ./ep conformance");
        // The report has all of them or none.
        Check compiler = compiler(architecture, timeout);
        Check queues = queues(System.getenv(), device);
        report.check(gpu).check(compiler).check(queues);
    }

    private static Check compiler(String architecture, Duration timeout) {
        HipInstallation installation = HipInstallation.find(System.getenv(), Path.of("/"));
        Optional<HipVersion> version = installation.compilerVersion();
        String what = "HIPRTC " + version.map(HipVersion::toString).orElse("of unknown version") + " in "
                + installation.compiler();
        if (HipArchitecture.isKnown(architecture, version)) {
            return Check.pass("EP-HIP-004", what);
        }
        String target = HipArchitecture.target(architecture);
        try {
            new HipCompiler(installation, KernelCache.of(System.getenv()), timeout).tryOut(architecture);
            return Check.pass(
                    "EP-HIP-004",
                    what + " compiles for " + target + ", although ep4j does not list this version for that"
                            + " architecture; ep4j therefore compiles in a separate process");
        } catch (EpException e) {
            return Check.fail("EP-HIP-004", String.valueOf(e.getMessage()), HipArchitecture.remedy(architecture));
        }
    }

    /**
     * Checks whether a process with one rank has a hardware queue for each of its streams. HIP maps the streams of a process to at most
     * {@value #QUEUES_VARIABLE} queues of a GPU; streams beyond them share. A kernel in a queue begins when all before it in that queue
     * have ended, of any stream, so one that waits for other ranks delays work that these may wait for.
     */
    static Check queues(Map<String, String> environment, Device device) {
        int queues = queueLimit(environment.getOrDefault(QUEUES_VARIABLE, ""));
        String detail = queues + " hardware queues of " + device + " for the streams of this process ("
                + (environment.containsKey(QUEUES_VARIABLE)
                        ? QUEUES_VARIABLE + "=" + environment.get(QUEUES_VARIABLE)
                        : "HIP's default")
                + ")";
        return queues >= ENOUGH_QUEUES
                ? Check.pass("EP-HIP-005", detail)
                : Check.warn(
                        "EP-HIP-005",
                        detail
                                + "; further streams share a queue, and a kernel that waits for other ranks delays the"
                                + " work behind it",
                        "set " + QUEUES_VARIABLE + "=" + ENOUGH_QUEUES
                                + " or more before the process starts; if several ranks of the process share a GPU,"
                                + " allow "
                                + DEFAULT_QUEUES
                                + " queues for each rank");
    }

    private static int queueLimit(String value) {
        try {
            return Math.max(1, Integer.parseInt(value.strip()));
        } catch (NumberFormatException e) {
            return DEFAULT_QUEUES;
        }
    }

    @Override
    public EpDevice open(Device device) {
        return new HipDevice(HipRuntime.load(), device.ordinal());
    }
}
