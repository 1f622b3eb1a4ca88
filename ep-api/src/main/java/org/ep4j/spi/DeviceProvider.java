package org.ep4j.spi;

import org.apiguardian.api.API;
import org.ep4j.Device;
import org.ep4j.EpDevice;

/**
 * A kind of device, found by {@link java.util.ServiceLoader}. Its public no-argument constructor does nothing. Internal: only
 * ep4j implements it, since the engine runs its kernels on no other devices.
 */
@API(status = API.Status.INTERNAL, since = "0.1")
public interface DeviceProvider {
    /** Type of the devices that this provider opens, as in {@link Device#type()}, for example {@code host}. */
    String type();

    /** The SPI version that this provider was compiled against, written as a constant. */
    SpiVersion spiVersion();

    /** Checks whether {@code request.device()} can be used, by the same rules as {@link EpBackendProvider#probe}. */
    ProbeReport probe(ProbeRequest request);

    /**
     * Number of devices of this type that the process sees; their ordinals begin with 0. Never throws; 0 when there is
     * none or it cannot be known.
     */
    default int count() {
        return 1;
    }

    /**
     * Opens a device.
     *
     * @throws org.ep4j.EpException with reason and remedy
     */
    EpDevice open(Device device);
}
