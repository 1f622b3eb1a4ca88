package org.ep4j.tck.crew;

import java.util.ServiceLoader;
import org.ep4j.Device;
import org.ep4j.spi.DeviceProvider;

/** Which device each of several ranks of one host takes. */
public final class RankDevice {
    private RankDevice() {}

    /**
     * A type alone stands for the rank's own device of it: ranks take those that the process sees in turn, and share them
     * where there are fewer.
     *
     * @param device {@code host}, {@code cuda}, or a device with its number, which is given back as it is
     * @param localRank index of the rank among those of its host
     */
    public static String of(String device, int localRank) {
        if (device.contains(":") || !Device.parse(device).isGpu()) {
            return device;
        }
        // With none, joining says why.
        return device + ":" + localRank % Math.max(1, count(Device.parse(device).type()));
    }

    /** Devices of a type that this process sees; 0 when nobody knows the type. */
    private static int count(String type) {
        return ServiceLoader.load(DeviceProvider.class, RankDevice.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.type().equals(type))
                .mapToInt(DeviceProvider::count)
                .findFirst()
                .orElse(0);
    }
}
