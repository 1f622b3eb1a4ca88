package org.ep4j.tck;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
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
import org.ep4j.tck.ranks.GroupFactory;

/**
 * The backend under test, with the settings of its groups.
 *
 * @param backend id of the backend
 * @param device device of the ranks: {@code host}, or a type of GPU, of which rank {@code i} takes the device {@code i} modulo their
 *     number, or one GPU
 * @param settings configuration of every group, besides device and backend
 * @param declared capabilities of the subject; what they imply is added
 * @param maxRanks most ranks that the subject can have here, for example its number of devices; rules for more are UNTESTED
 * @param factory joins the groups
 */
public record TckSubject(
        String backend,
        String device,
        Map<String, String> settings,
        Set<Capability> declared,
        int maxRanks,
        Class<? extends GroupFactory> factory) {
    /** Environment variable with the backends that must be available here, comma-separated. */
    public static final String REQUIRE = "EP_TCK_REQUIRE";

    private static final Duration PROBE = Duration.ofSeconds(60);
    private static final Duration SETUP = Duration.ofSeconds(60);

    /** Timeout of operations that are to succeed: it ends operations that hang, and no rule waits for it. */
    private static final Duration OPERATION = Duration.ofSeconds(60);

    /** Copies the map and completes the capabilities; those of GPUs are removed for other devices. */
    public TckSubject {
        settings = Map.copyOf(settings);
        Set<Capability> all = EnumSet.noneOf(Capability.class);
        all.addAll(Capability.closure(declared));
        if (!Device.parse(device).isGpu()) {
            all.remove(Capability.STREAMS);
        }
        declared = Set.copyOf(all);
    }

    /** Returns a subject that declares all capabilities. */
    public static TckSubject of(String backend, String device) {
        return new TckSubject(
                backend,
                device,
                Map.of(),
                EnumSet.allOf(Capability.class),
                Integer.MAX_VALUE,
                GroupFactory.Plain.class);
    }

    /** Returns a copy without some capabilities, and without those that imply them. */
    public TckSubject without(Capability... missing) {
        Set<Capability> kept = EnumSet.copyOf(declared);
        for (Capability gone : missing) {
            kept.removeIf(c -> Capability.closure(Set.of(c)).contains(gone));
        }
        return new TckSubject(backend, device, settings, kept, maxRanks, factory);
    }

    /** Returns a copy with more settings. */
    public TckSubject with(Map<String, String> more) {
        Map<String, String> all = new TreeMap<>(settings);
        all.putAll(more);
        return new TckSubject(backend, device, all, declared, maxRanks, factory);
    }

    /** Returns a copy whose groups {@code other} joins. */
    public TckSubject with(Class<? extends GroupFactory> other) {
        return new TckSubject(backend, device, settings, declared, maxRanks, other);
    }

    /** Returns a copy with at most {@code ranks} ranks. */
    public TckSubject upTo(int ranks) {
        return new TckSubject(backend, device, settings, declared, ranks, factory);
    }

    /** Returns the provider of a backend. */
    public static Optional<EpBackendProvider> backendProvider(String id) {
        return provider(EpBackendProvider.class, p -> p.id().equals(id));
    }

    /** Returns the provider of a device type. */
    public static Optional<DeviceProvider> deviceProvider(String type) {
        return provider(DeviceProvider.class, p -> p.type().equals(type));
    }

    private static <P> Optional<P> provider(Class<P> service, Predicate<P> wanted) {
        return ServiceLoader.load(service, TckSubject.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .filter(wanted)
                .findFirst();
    }

    /** Returns why this machine cannot run the subject; empty when it can. */
    public List<String> unavailable() {
        List<String> reasons = new ArrayList<>();
        String type = Device.parse(device).type();
        probeBackend()
                .ifPresentOrElse(
                        report -> addFailures(report, reasons),
                        () -> reasons.add("no backend " + backend + " on the class path"));
        deviceProvider(type)
                .map(p -> p.probe(probeRequest()))
                .ifPresentOrElse(
                        report -> addFailures(report, reasons),
                        () -> reasons.add("no device " + type + " on the class path"));
        return reasons;
    }

    private Optional<ProbeReport> probeBackend() {
        return backendProvider(backend).map(p -> p.probe(probeRequest()));
    }

    private ProbeRequest probeRequest() {
        return ProbeRequest.of(Device.parse(device), config(), Patience.scaled(PROBE));
    }

    private static void addFailures(ProbeReport report, List<String> reasons) {
        report.failures().forEach(check -> reasons.add(check.toString()));
    }

    /** Returns the results of the backend's probe, by the code of its checks. */
    Map<String, String> probed() {
        Map<String, String> found = new TreeMap<>();
        probeBackend()
                .ifPresent(report ->
                        report.checks().forEach(c -> found.put("probe " + c.code(), c.status() + ": " + c.detail())));
        return found;
    }

    /** Returns whether {@value #REQUIRE} names the backend. */
    public boolean required(Map<String, String> environment) {
        return List.of(environment.getOrDefault(REQUIRE, "").split(",", -1)).stream()
                .anyMatch(name -> name.trim().equals(backend));
    }

    /** Returns all settings of the subject's groups. */
    public Map<String, String> groupSettings() {
        Map<String, String> all = new TreeMap<>();
        all.put(EpKeys.BACKEND_REQUIRE.name(), backend);
        all.put(EpKeys.TIMEOUT.name(), Patience.scaled(OPERATION).toSeconds() + "s");
        all.put(EpKeys.SETUP_TIMEOUT.name(), Patience.scaled(SETUP).toSeconds() + "s");
        all.put(EpKeys.DEVICE.name(), device);
        all.putAll(settings);
        return all;
    }

    /**
     * Checks the settings of the subject's groups, as joining does.
     *
     * @throws org.ep4j.EpConfigException when a setting is unknown or malformed; it names all of them
     */
    public void checkSettings() {
        EpConfig config = config();
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        ServiceLoader.load(EpBackendProvider.class, TckSubject.class.getClassLoader())
                .forEach(provider -> keys.addAll(provider.configKeys()));
        Settings.check(config, keys);
        PlanOptions.from(config);
        NicChoice.from(config);
    }

    private EpConfig config() {
        EpConfig.Builder builder = EpConfig.builder();
        groupSettings().forEach(builder::set);
        return builder.build();
    }
}
