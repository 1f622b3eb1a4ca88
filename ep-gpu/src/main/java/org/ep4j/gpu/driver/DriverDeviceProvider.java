package org.ep4j.gpu.driver;

import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeMethods;

/** Counts and probes the GPUs of one driver; subclasses make the checks. */
public abstract class DriverDeviceProvider implements DeviceProvider {
    private final String callable;
    private final String remedy;

    /**
     * Creates the provider of a driver's GPUs.
     *
     * @param callable code of the check that the driver can be called
     * @param remedy if it cannot be called
     */
    protected DriverDeviceProvider(String callable, String remedy) {
        this.callable = callable;
        this.remedy = remedy;
    }

    /**
     * Loads the driver.
     *
     * @throws EpException when this machine has none
     */
    protected abstract GpuDriver load();

    /**
     * Checks the driver and one of its GPUs.
     *
     * @param report takes the checks, and what becomes known about the driver and the GPU
     * @throws EpException when the driver cannot be called
     */
    protected abstract void check(ProbeRequest request, ProbeReport.Builder report);

    @Override
    public final SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public final ProbeReport probe(ProbeRequest request) {
        ProbeReport.Builder report = ProbeReport.builder();
        Optional<JniLibraryProblem> jna = NativeMethods.problem();
        if (jna.isPresent()) {
            return report.check(
                            Check.fail(callable, jna.get().message(), jna.get().remedy()))
                    .build();
        }
        try {
            check(request, report);
        } catch (EpException e) {
            report.check(Check.fail(callable, String.valueOf(e.getMessage()), remedy));
        }
        return report.build();
    }

    @Override
    public final int count() {
        try {
            GpuDriver driver = load();
            return driver.init(0) == 0 ? GpuDriver.readOr(0, driver::deviceGetCount) : 0;
        } catch (EpException e) {
            // The probe says why.
            return 0;
        }
    }

    /** The failed check {@code code} of a GPU whose ordinal is not below {@code count}. */
    protected static Check absent(String code, Device device, int count, GpuDriver driver) {
        return Check.fail(
                code,
                device + " does not exist: this process sees " + count + " GPUs",
                "set ep.device to a lower ordinal, or check " + driver.visibleVariable());
    }
}
