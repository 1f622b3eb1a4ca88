package org.ep4j.tck.crew;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;

/**
 * One run of a scenario.
 *
 * @param name unique in the life of a crew
 * @param scenario class name of a {@link Scenario}
 * @param parameters what it is told
 * @param ranks ranks that run it: the first ones of the crew
 * @param settings configuration of its groups
 * @param factory class name of the {@link GroupFactory}
 * @param timeout longest time before the ranks are taken for hung
 */
public record Job(
        String name,
        String scenario,
        Map<String, String> parameters,
        int ranks,
        Map<String, String> settings,
        String factory,
        Duration timeout) {
    /**
     * Configuration of one rank's groups: a device type other than the host stands for the rank's own one of it, counted round
     * where ranks outnumber the devices.
     */
    Map<String, String> settings(int rank) {
        Map<String, String> own = new TreeMap<>(settings);
        own.put(EpKeys.DEVICE.name(), RankDevice.of(settings.getOrDefault(EpKeys.DEVICE.name(), "host"), rank));
        return own;
    }
}
