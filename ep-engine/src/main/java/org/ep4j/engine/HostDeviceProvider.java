package org.ep4j.engine;

import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.rows.Rows;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.NativeMethods;

/**
 * The device {@code host:0}: this machine's CPU and memory. Codes of its checks:
 *
 * <ul>
 *   <li>{@code EP-HOST-001} the device exists
 *   <li>{@code EP-HOST-002} native libraries can be called
 *   <li>{@code EP-HOST-003} there is native code for rows, unless the settings ask for Java
 * </ul>
 */
public final class HostDeviceProvider implements DeviceProvider {
    @Override
    public String type() {
        return Device.HOST.type();
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        Check check = request.device().equals(Device.HOST)
                ? Check.pass("EP-HOST-001", Runtime.getRuntime().availableProcessors() + " processors")
                : Check.fail("EP-HOST-001", request.device() + " does not exist", "the only host device is host:0");
        Check calls = NativeMethods.problem()
                .map(problem -> Check.fail("EP-HOST-002", problem.message(), problem.remedy()))
                .orElseGet(() -> Check.pass("EP-HOST-002", "native libraries can be called through JNA"));
        ProbeReport.Builder report = ProbeReport.builder().check(check).check(calls);
        try {
            Rows rows = Rows.of(request.config());
            report.check(check(rows)).fact(ProbeReport.ROWS, rows.description());
        } catch (EpUnavailableException e) {
            String refused = String.valueOf(e.getMessage());
            report.check(Check.fail("EP-HOST-003", refused, "name another variant, or auto"))
                    .fact(ProbeReport.ROWS, refused);
        }
        return report.build();
    }

    static Check check(Rows rows) {
        String detail = "rows: " + rows.description();
        return rows.remedy().isEmpty()
                ? Check.pass("EP-HOST-003", detail)
                : Check.warn("EP-HOST-003", detail, rows.remedy());
    }

    @Override
    public EpDevice open(Device device) {
        if (!device.equals(Device.HOST)) {
            throw new EpUnavailableException(device + " does not exist; the only host device is host:0");
        }
        return new HostDevice();
    }
}
