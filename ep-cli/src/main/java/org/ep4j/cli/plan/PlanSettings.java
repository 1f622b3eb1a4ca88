package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpConfig.Origin;
import org.ep4j.config.EpConfig.Resolved;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Posting;
import org.ep4j.spi.EpBackendProvider;

/**
 * Settings as a group would read them: options of the command before those of the process, whose machine the plan need not
 * be about.
 */
public final class PlanSettings {
    /** What a plan depends on. */
    private static final List<ConfigKey<?>> USED = List.of(
            EpKeys.REQUIRE,
            EpKeys.PREFER,
            EpKeys.EXCLUDE,
            EpKeys.OBJECTIVE,
            EpKeys.HYBRID,
            EpKeys.POSTING,
            EpKeys.RAILS,
            EpKeys.LANES,
            EpKeys.PROXY_THREADS,
            EpKeys.WINDOW,
            EpKeys.NIC_MAP,
            EpKeys.NIC_INCLUDE,
            EpKeys.NIC_EXCLUDE,
            EpKeys.NIC_GID_INDEX,
            EpKeys.NIC_SERVICE_LEVEL,
            EpKeys.NIC_TRAFFIC_CLASS);

    /** In names of settings of backends: what may be under way, which a plan shows. */
    private static final String FLOW = ".max-inflight-";

    private final EpConfig config;

    private PlanSettings(EpConfig config) {
        this.config = config;
    }

    /**
     * Reads them.
     *
     * @param given settings that options of the command give, by name
     * @throws org.ep4j.EpConfigException when a name is unknown or a value cannot be read
     */
    public static PlanSettings of(Map<String, String> given) {
        EpConfig.Builder builder = EpConfig.builder();
        given.forEach(builder::set);
        EpConfig config = builder.build();
        List<ConfigKey<?>> known = new ArrayList<>(EpKeys.all());
        ServiceLoader.load(EpBackendProvider.class).forEach(provider -> known.addAll(provider.configKeys()));
        config.check(known);
        return new PlanSettings(config);
    }

    /**
     * For the planner.
     *
     * @param usual objective where none is set
     */
    public PlanOptions options(Objective usual) {
        boolean set = config.resolve(EpKeys.OBJECTIVE).origin() != Origin.DEFAULT;
        return new PlanOptions(
                BackendChoice.from(config),
                NicChoice.from(config),
                set ? Objective.from(config) : usual,
                config.get(EpKeys.LANES),
                config.get(EpKeys.PROXY_THREADS),
                config.get(EpKeys.HYBRID),
                Posting.from(config),
                config.get(EpKeys.RAILS));
    }

    /** All of them. */
    public EpConfig config() {
        return config;
    }

    /** Those that count and were not given as options, for people. */
    public List<String> ofProcess() {
        List<ConfigKey<?>> used = new ArrayList<>(USED);
        ServiceLoader.load(EpBackendProvider.class)
                .forEach(provider -> provider.configKeys().stream()
                        .filter(key -> key.name().contains(FLOW))
                        .forEach(used::add));
        return config.resolveAll(used).stream()
                .filter(setting -> setting.origin() == Origin.ENVIRONMENT || setting.origin() == Origin.SYSTEM_PROPERTY)
                .map(PlanSettings::text)
                .toList();
    }

    private static String text(Resolved setting) {
        String where = setting.origin() == Origin.ENVIRONMENT ? "variable " : "property ";
        return setting.name() + " = " + setting.text() + " from " + where + setting.source() + " of this process";
    }
}
