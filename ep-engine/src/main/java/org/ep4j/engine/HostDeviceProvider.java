package org.ep4j.engine;

import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.SpiVersion;

/** The device {@code host:0}: this machine's processor and memory. */
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
        return new ProbeReport(List.of(check), Map.of());
    }

    @Override
    public EpDevice open(Device device) {
        if (!device.equals(Device.HOST)) {
            throw new EpUnavailableException(device + " does not exist; the only host device is host:0");
        }
        return new HostDevice();
    }
}
