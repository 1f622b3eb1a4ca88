package org.ep4j.transport.posted;

import java.io.IOException;
import org.ep4j.Device;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.transport.memory.LockedMemory;

/** Checks that the probes of all posted backends have. */
public final class PostedChecks {
    /** Less does not hold a group of a few ranks with small shapes; login shells give 8 MiB. */
    private static final long LITTLE = 256L << 20;

    private PostedChecks() {}

    /** Checks that the device can send: from memory of the host, also for a GPU. */
    public static Check device(String code, Device device) {
        return switch (device.type()) {
            case "host" -> Check.pass(code, "device host");
            case "cuda", "hip" -> Check.pass(code, device + ": proxy threads post for the GPU");
            default ->
                Check.notApplicable(
                        code,
                        "device " + device + " is neither the host nor a GPU for which host memory can be pinned",
                        "set ep.device to host, cuda or hip");
        };
    }

    /** Checks that this process may lock enough memory. */
    public static Check lockedMemory(String code) {
        try {
            LockedMemory limit = LockedMemory.ofThisProcess();
            return limit.below(LITTLE)
                    ? Check.warn(
                            code,
                            limit.toString(),
                            "ulimit -l unlimited; in containers --ulimit memlock=-1; for services LimitMEMLOCK=infinity")
                    : Check.pass(code, limit.toString());
        } catch (IOException e) {
            return Check.notRun(code, String.valueOf(e.getMessage()));
        }
    }

    /** Reports checks that a failed one left out. */
    public static void notRun(ProbeReport.Builder report, String... codes) {
        for (String code : codes) {
            report.check(Check.notRun(code, "a check before it failed"));
        }
    }
}
