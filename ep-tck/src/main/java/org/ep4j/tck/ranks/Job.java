package org.ep4j.tck.ranks;

import java.time.Duration;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.DeviceProvider;

/**
 * One run of a scenario.
 *
 * @param name unique among the jobs of a pool
 * @param scenario class name of a {@link Scenario}
 * @param parameters of the scenario
 * @param ranks ranks that run it: the first ones of the pool
 * @param settings configuration of its groups
 * @param factory class name of the {@link GroupFactory}
 * @param timeoutMillis time after which ranks count as hung
 */
public record Job(
        String name,
        String scenario,
        Map<String, String> parameters,
        int ranks,
        Map<String, String> settings,
        String factory,
        long timeoutMillis) {
    /** Creates a job whose ranks count as hung after {@code timeout}. */
    public Job(
            String name,
            String scenario,
            Map<String, String> parameters,
            int ranks,
            Map<String, String> settings,
            String factory,
            Duration timeout) {
        this(name, scenario, parameters, ranks, settings, factory, timeout.toMillis());
    }

    Duration timeout() {
        return Duration.ofMillis(timeoutMillis);
    }

    /** Returns the configuration of one rank's groups; see {@link #deviceOf}. */
    Map<String, String> settings(int rank) {
        Map<String, String> own = new TreeMap<>(settings);
        own.put(EpKeys.DEVICE.name(), deviceOf(settings.getOrDefault(EpKeys.DEVICE.name(), "host"), rank));
        return own;
    }

    /**
     * Returns the device of a rank. For a type of GPU this is the device with the number local rank modulo the number of devices that
     * the process sees.
     *
     * @param device {@code host}, {@code cuda}, or a device with its number, which is returned unchanged
     * @param localRank index of the rank among those of its host
     */
    public static String deviceOf(String device, int localRank) {
        if (device.contains(":") || !Device.parse(device).isGpu()) {
            return device;
        }
        String type = Device.parse(device).type();
        int count = ServiceLoader.load(DeviceProvider.class, Job.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.type().equals(type))
                .mapToInt(DeviceProvider::count)
                .findFirst()
                .orElse(0);
        // Without a device, joining a group reports why.
        return device + ":" + localRank % Math.max(1, count);
    }
}
