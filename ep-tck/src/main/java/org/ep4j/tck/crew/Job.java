package org.ep4j.tck.crew;

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
 * @param name unique in the life of a crew
 * @param scenario class name of a {@link Scenario}
 * @param parameters what it is told
 * @param ranks ranks that run it: the first ones of the crew
 * @param settings configuration of its groups
 * @param factory class name of the {@link GroupFactory}
 * @param timeoutMillis longest time before the ranks are taken for hung
 */
public record Job(
        String name,
        String scenario,
        Map<String, String> parameters,
        int ranks,
        Map<String, String> settings,
        String factory,
        long timeoutMillis) {
    /** A job with the time after which its ranks are taken for hung. */
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

    /** Longest time before the ranks are taken for hung. */
    Duration timeout() {
        return Duration.ofMillis(timeoutMillis);
    }

    /** Configuration of one rank's groups; see {@link #deviceOf}. */
    Map<String, String> settings(int rank) {
        Map<String, String> own = new TreeMap<>(settings);
        own.put(EpKeys.DEVICE.name(), deviceOf(settings.getOrDefault(EpKeys.DEVICE.name(), "host"), rank));
        return own;
    }

    /**
     * Which device a rank takes: a type alone stands for the rank's own device of it. Ranks take those that the process sees in turn,
     * and share them where there are fewer.
     *
     * @param device {@code host}, {@code cuda}, or a device with its number, which is given back as it is
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
        // With none, joining says why.
        return device + ":" + localRank % Math.max(1, count);
    }
}
