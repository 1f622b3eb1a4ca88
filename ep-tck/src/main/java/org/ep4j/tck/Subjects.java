package org.ep4j.tck;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Settings;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.oracle.Patience;

/** Looks up a subject's providers and asks whether this machine can run it. */
public final class Subjects {
    /** Environment variable with the backends that must be available here, comma-separated. */
    public static final String REQUIRE = "EP_TCK_REQUIRE";

    private static final Duration PROBE = Duration.ofSeconds(60);
    private static final Duration SETUP = Duration.ofSeconds(60);

    /** Of operations that are to succeed: it ends what hangs, and no rule waits for it. */
    private static final Duration OPERATION = Duration.ofSeconds(60);

    private Subjects() {}

    /** The provider of a backend. */
    public static Optional<EpBackendProvider> backend(String id) {
        return ServiceLoader.load(EpBackendProvider.class, Subjects.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .filter(p -> p.id().equals(id))
                .findFirst();
    }

    /** The provider of a device type. */
    public static Optional<DeviceProvider> device(String type) {
        return ServiceLoader.load(DeviceProvider.class, Subjects.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .filter(p -> p.type().equals(type))
                .findFirst();
    }

    /** Why this machine cannot run the subject; empty when it can. */
    public static List<String> unavailable(TckSubject subject) {
        List<String> reasons = new ArrayList<>();
        Device device = Device.parse(subject.device());
        EpConfig config = config(subject);
        backend(subject.backend())
                .map(p -> p.probe(ProbeRequest.of(device, config, Patience.here(PROBE))))
                .ifPresentOrElse(
                        report -> addFailures(report, reasons),
                        () -> reasons.add("no backend " + subject.backend() + " on the class path"));
        device(device.type())
                .map(p -> p.probe(ProbeRequest.of(device, config, Patience.here(PROBE))))
                .ifPresentOrElse(
                        report -> addFailures(report, reasons),
                        () -> reasons.add("no device " + device.type() + " on the class path"));
        return reasons;
    }

    /** What the backend's probe found, by the code of its checks. */
    static Map<String, String> probed(TckSubject subject) {
        Map<String, String> found = new TreeMap<>();
        Device device = Device.parse(subject.device());
        backend(subject.backend())
                .map(p -> p.probe(ProbeRequest.of(device, config(subject), Patience.here(PROBE))))
                .ifPresent(report ->
                        report.checks().forEach(c -> found.put("probe " + c.code(), c.status() + ": " + c.detail())));
        return found;
    }

    /** True when {@value #REQUIRE} names the backend. */
    public static boolean required(TckSubject subject, Map<String, String> environment) {
        return List.of(environment.getOrDefault(REQUIRE, "").split(",", -1)).stream()
                .anyMatch(name -> name.trim().equals(subject.backend()));
    }

    /** Settings of a subject's groups. */
    public static Map<String, String> settings(TckSubject subject) {
        Map<String, String> all = new TreeMap<>();
        all.put(EpKeys.BACKEND_REQUIRE.name(), subject.backend());
        all.put(EpKeys.TIMEOUT.name(), Patience.here(OPERATION).toSeconds() + "s");
        all.put(EpKeys.SETUP_TIMEOUT.name(), Patience.here(SETUP).toSeconds() + "s");
        all.put(EpKeys.DEVICE.name(), subject.device());
        all.putAll(subject.settings());
        return all;
    }

    /**
     * Looks at the settings of a subject's groups, as joining does.
     *
     * @throws org.ep4j.EpConfigException when one is unknown or malformed; it names all that are
     */
    public static void checkSettings(TckSubject subject) {
        EpConfig config = config(subject);
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        ServiceLoader.load(EpBackendProvider.class, Subjects.class.getClassLoader())
                .forEach(provider -> keys.addAll(provider.configKeys()));
        Settings.check(config, keys);
        PlanOptions.from(config);
        NicChoice.from(config);
    }

    private static EpConfig config(TckSubject subject) {
        EpConfig.Builder builder = EpConfig.builder();
        settings(subject).forEach(builder::set);
        return builder.build();
    }

    private static void addFailures(ProbeReport report, List<String> reasons) {
        report.failures().forEach(check -> reasons.add(check.toString()));
    }
}
