package org.ep4j.spi;

import org.ep4j.Device;
import org.ep4j.EpDevice;

/** A kind of device, found by {@link java.util.ServiceLoader}. Its public no-argument constructor does nothing. */
public interface DeviceProvider {
    /** Type of its devices, as in {@link Device#type()}: {@code host}. */
    String type();

    /** The SPI version that this was compiled against, written as a constant. */
    SpiVersion spiVersion();

    /** Looks whether {@code request.device()} can be used; same rules as {@link EpBackendProvider#probe}. */
    ProbeReport probe(ProbeRequest request);

    /**
     * Opens a device.
     *
     * @throws org.ep4j.EpException with reason and remedy
     */
    EpDevice open(Device device);
}
