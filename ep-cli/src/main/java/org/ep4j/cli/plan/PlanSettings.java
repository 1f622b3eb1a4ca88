package org.ep4j.cli.plan;

import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.cli.plan.PlanReport.Variable;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Settings;

/**
 * Settings as a group would read them: options of the command before those of the process, whose machine the plan need not
 * be about.
 */
public record PlanSettings(EpConfig config) {
    /** The settings that a plan depends on. */
    private static final List<ConfigKey<?>> USED = List.of(
            EpKeys.BACKEND_REQUIRE,
            EpKeys.BACKEND_PREFER,
            EpKeys.BACKEND_EXCLUDE,
            EpKeys.OBJECTIVE,
            EpKeys.HYBRID,
            EpKeys.RAILS,
            EpKeys.LANES,
            EpKeys.PROXY_THREADS,
            EpKeys.GPU_WINDOW,
            EpKeys.NIC_MAP,
            EpKeys.NIC_INCLUDE,
            EpKeys.NIC_EXCLUDE,
            EpKeys.NIC_GID_INDEX,
            EpKeys.NIC_SERVICE_LEVEL,
            EpKeys.NIC_TRAFFIC_CLASS);

    /**
     * Reads them, so that they can be explained before {@link #check} refuses some.
     *
     * @param given settings that options of the command give, by name
     */
    public static PlanSettings of(Map<String, String> given) {
        EpConfig.Builder builder = EpConfig.builder();
        given.forEach(builder::set);
        return new PlanSettings(builder.build());
    }

    /**
     * Refuses settings that cannot be meant.
     *
     * @throws org.ep4j.EpConfigException when a name is unknown or a value cannot be read
     */
    public void check() {
        Settings.check(config, PlannedBackend.allKeys());
    }

    /** Explains each variable of this process. */
    public List<Variable> variables() {
        return EnvironmentAnalysis.of(System.getenv(), config, PlannedBackend.allKeys());
    }

    /** Returns the options of the planner, with the objective {@code usual} where none is set. */
    public PlanOptions options(Objective usual) {
        boolean set = EpKeys.OBJECTIVE.setting(config).origin() != Origin.DEFAULT;
        return set ? PlanOptions.from(config) : PlanOptions.from(config).withObjective(usual);
    }

    /** Returns {@link EpKeys#GPU_WINDOW}. */
    public String window() {
        return EpKeys.GPU_WINDOW.get(config);
    }

    /** Returns the settings that take effect and were not given as options, as text. */
    public List<String> ofProcess() {
        return Settings.resolveAll(config, PlannedBackend.withKeys(USED, PlannedBackend.all())).stream()
                .filter(setting -> setting.origin() == Origin.ENVIRONMENT || setting.origin() == Origin.SYSTEM_PROPERTY)
                .map(PlanSettings::text)
                .toList();
    }

    private static String text(Setting setting) {
        String where = setting.origin() == Origin.ENVIRONMENT ? "variable " : "property ";
        return setting.name() + " = " + setting.text() + " from " + where + setting.source() + " of this process";
    }
}
