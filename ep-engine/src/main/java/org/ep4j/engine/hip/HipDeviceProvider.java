package org.ep4j.engine.hip;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
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
import org.ep4j.engine.driver.KernelCache;
import org.ep4j.engine.memory.JniLibraryProblem;
import org.ep4j.engine.memory.NativeMethods;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;

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
public final class HipDeviceProvider implements DeviceProvider {
    /** For {@link java.util.ServiceLoader}; does nothing. */
    public HipDeviceProvider() {}

    @Override
    public String type() {
        return "hip";
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
                            "EP-HIP-002", jna.get().message(), jna.get().remedy())),
                    facts);
        }
        try {
            HipRuntime runtime = HipRuntime.load();
            new DriverErrors(runtime).check(runtime.hipInit(0), "hipInit");
            HipVersion version = runtime.version();
            facts.put("runtime", version.toString());
            checks.add(
                    version.isAtLeast(HipVersion.OLDEST)
                            ? Check.pass("EP-HIP-001", "HIP " + version)
                            : Check.fail(
                                    "EP-HIP-001",
                                    "HIP " + version + ", ep4j needs " + HipVersion.OLDEST + " or newer",
                                    "install ROCm " + HipVersion.OLDEST + " or newer"));
            checks.addAll(gpu(runtime, request.device(), request.deadline(), facts));
        } catch (EpException e) {
            checks.add(Check.fail(
                    "EP-HIP-002",
                    String.valueOf(e.getMessage()),
                    "see rocminfo; the user must be in the groups that may open /dev/kfd and /dev/dri/renderD*"));
        }
        return new ProbeReport(checks, facts);
    }

    @Override
    public int count() {
        try {
            HipRuntime runtime = HipRuntime.load();
            int[] count = new int[1];
            return runtime.hipInit(0) == 0 && runtime.hipGetDeviceCount(count) == 0 ? count[0] : 0;
        } catch (EpException e) {
            // The probe says why.
            return 0;
        }
    }

    private static List<Check> gpu(HipRuntime runtime, Device device, Duration deadline, Map<String, String> facts) {
        DriverErrors errors = new DriverErrors(runtime);
        int[] count = new int[1];
        errors.check(runtime.hipGetDeviceCount(count), "hipGetDeviceCount");
        if (device.ordinal() >= count[0]) {
            return List.of(Check.fail(
                    "EP-HIP-003",
                    device + " does not exist: this process sees " + count[0] + " GPUs",
                    "set ep.device to a lower ordinal, or check " + runtime.visibleVariable()));
        }
        byte[] name = new byte[128];
        errors.check(runtime.hipDeviceGetName(name, name.length, device.ordinal()), "hipDeviceGetName");
        byte[] bus = new byte[32];
        errors.check(runtime.hipDeviceGetPCIBusId(bus, bus.length, device.ordinal()), "hipDeviceGetPCIBusId");
        String architecture = runtime.architecture(device.ordinal());
        facts.put("architecture", HipArchitecture.target(architecture));
        facts.put("bus", text(bus).toLowerCase(Locale.ROOT));
        String detail = device + " is " + text(name) + ", " + architecture + ", at " + text(bus);
        Check gpu = HipArchitecture.of(architecture).isPresent()
                ? Check.pass("EP-HIP-003", detail)
                : Check.warn(
                        "EP-HIP-003",
                        detail,
                        "ep4j is made for " + HipArchitecture.served()
                                + " and was never tested on this architecture: before you use this GPU,"
                                + " run ./ep conformance");
        return List.of(gpu, compiler(architecture, deadline), HipQueues.check(System.getenv(), device));
    }

    private static Check compiler(String architecture, Duration deadline) {
        HipInstallation installation = HipInstallation.find(System.getenv(), Path.of("/"));
        Optional<HipVersion> version = installation.compilerVersion();
        if (HipArchitecture.isKnown(architecture, version)) {
            return Check.pass(
                    "EP-HIP-004",
                    "HIPRTC " + version.map(HipVersion::toString).orElse("") + " in " + installation.compiler());
        }
        String what = "HIPRTC " + version.map(HipVersion::toString).orElse("of unknown version") + " in "
                + installation.compiler();
        String target = HipArchitecture.target(architecture);
        try {
            new HipCompiler(installation, KernelCache.of(System.getenv()), deadline).tryOut(architecture);
            return Check.pass(
                    "EP-HIP-004",
                    what + " compiles for " + target + ", although ep4j does not list this version for that"
                            + " architecture; ep4j therefore compiles in a separate process");
        } catch (EpException e) {
            return Check.fail("EP-HIP-004", String.valueOf(e.getMessage()), HipArchitecture.remedy(architecture));
        }
    }

    private static String text(byte[] zeroEnded) {
        return new String(zeroEnded, StandardCharsets.US_ASCII).split("\0", -1)[0];
    }

    @Override
    public EpDevice open(Device device) {
        return new HipDevice(HipRuntime.load(), device.ordinal());
    }
}
