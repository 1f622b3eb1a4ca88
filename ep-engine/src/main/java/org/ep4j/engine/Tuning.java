package org.ep4j.engine;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpShape;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.ep4j.transport.CacheFolder;
import org.ep4j.transport.memory.EngineDevice;

/**
 * Settings that {@code ./ep tune} has found for buffers of one group, by shape. They are read once, when the group is joined. A setting
 * that the user gives counts instead of the measured one. Safe for use from several threads.
 */
final class Tuning {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** A measurement that fits this rank's group, and its file. */
    private record Measured(TunedSettings settings, Path file) {
        EpConfig appliedTo(EpConfig config) {
            return config.withTuned(settings.settings(), file.toString());
        }

        String note(EpConfig config) {
            EpConfig tuned = appliedTo(config);
            String choices = settings.choices().isEmpty()
                    ? "the defaults are best"
                    : settings.choices().stream()
                            .map(choice -> note(choice, tuned))
                            .collect(Collectors.joining("; "));
            return "tuned for buffers of " + settings.shape().text() + " (" + settings.measured() + "): " + choices;
        }

        private static String note(Choice choice, EpConfig tuned) {
            Setting used = Optional.ofNullable(TunedSettings.TUNABLE.get(choice.setting()))
                    .orElseThrow()
                    .setting(tuned);
            String value = choice.setting() + "=" + choice.value();
            if (used.origin() == Origin.TUNED) {
                return value + " (" + choice.reason() + ")";
            }
            String is = used.origin() == Origin.BUILDER ? " sets " : " is ";
            return value + " is not used, since " + used.place() + is + used.text();
        }
    }

    private final EpConfig config;
    private final int rank;
    private final Map<Shape, Measured> measured;
    private final List<String> notes;
    private final Set<Shape> logged = ConcurrentHashMap.newKeySet();

    private Tuning(EpConfig config, int rank, Map<Shape, Measured> measured) {
        this.config = config;
        this.rank = rank;
        this.measured = measured;
        this.notes = measured.values().stream().map(one -> one.note(config)).toList();
    }

    /**
     * Reads the measurements in the cache folder that were made with devices, ranks and backends such as this group has. Reads nothing if
     * {@code ep.tune} is {@code off}. A file that cannot be used is logged and left out.
     *
     * @param config of the rank
     * @param environment names the cache folder
     */
    static Tuning of(EpConfig config, GroupPlan plan, int rank, EngineDevice device, Map<String, String> environment) {
        Map<Shape, Measured> found = new LinkedHashMap<>();
        if (EpKeys.TUNE.get(config).equals("on")) {
            CacheFolder.of(environment).ifPresent(folder -> {
                List<TunedSettings> all =
                        TunedSettings.read(folder, problem -> LOG.log(System.Logger.Level.WARNING, problem));
                if (all.isEmpty()) {
                    return;
                }
                Fingerprint here = device.fingerprint(plan, rank);
                for (TunedSettings one : all) {
                    if (one.fingerprint().matches(here)) {
                        found.putIfAbsent(one.shape(), new Measured(one, one.file(folder)));
                    }
                }
            });
        }
        return new Tuning(config, rank, found);
    }

    /** Returns a line for each measured shape: the settings that its buffers use, and those that the user's settings replace. */
    List<String> notes() {
        return notes;
    }

    /** Returns the configuration of a buffer: with the measured settings if its shape was measured. Logs them for the first such buffer. */
    EpConfig config(EpShape shape) {
        return Optional.ofNullable(measured.get(Shape.of(shape))).map(this::use).orElse(config);
    }

    private EpConfig use(Measured found) {
        if (logged.add(found.settings().shape())) {
            LOG.log(
                    System.Logger.Level.INFO,
                    "rank " + rank + ": " + found.note(config) + ", as " + found.file() + " says");
        }
        return found.appliedTo(config);
    }
}
