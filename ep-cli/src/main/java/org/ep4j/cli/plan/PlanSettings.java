package org.ep4j.cli.plan;

import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Origin;
import org.ep4j.EpConfig.Setting;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Settings;

/**
 * Settings as a group would read them: options of the command before those of the process, whose machine the plan need not
 * be about.
 */
public final class PlanSettings {
    /** What a plan depends on. */
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

    private final EpConfig config;
    private final List<ConfigKey<?>> keys = PlannedBackend.allKeys();

    private PlanSettings(EpConfig config) {
        this.config = config;
    }

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
        Settings.check(config, keys);
    }

    /** What each variable of this process does, or why it does nothing. */
    public List<EnvironmentVariable> variables() {
        return EnvironmentStudy.of(System.getenv(), config, keys);
    }

    public EpConfig config() {
        return config;
    }

    /**
     * For the planner.
     *
     * @param usual objective where none is set
     */
    public PlanOptions options(Objective usual) {
        boolean set = EpKeys.OBJECTIVE.setting(config).origin() != Origin.DEFAULT;
        return set ? PlanOptions.from(config) : PlanOptions.from(config).withObjective(usual);
    }

    /** By which memory GPUs are to exchange: {@link EpKeys#GPU_WINDOW}. */
    public String window() {
        return EpKeys.GPU_WINDOW.get(config);
    }

    /** Those that count and were not given as options, for people. */
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
