package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.cuda.CudaNicMemory;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.gpu.driver.NicMemory.Registrable;
import org.ep4j.gpu.hip.HipNicMemory;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.posted.PostedChecks;

/**
 * Looks whether this rank can use libfabric. It opens an endpoint of the best provider and closes it again. The codes:
 *
 * <ul>
 *   <li>{@code EP-EFA-001} the device is the host or a GPU from which this backend can send
 *   <li>{@code EP-EFA-002} libfabric is installed and can be called
 *   <li>{@code EP-EFA-003} libfabric has a provider with remote writes and immediate data that {@code ep.efa.provider} allows
 *   <li>{@code EP-EFA-004} that provider does not send through sockets
 *   <li>{@code EP-EFA-005} the NIC can register the memory of the device, and how
 *   <li>{@code EP-EFA-006} an endpoint of that provider can be opened
 *   <li>{@code EP-EFA-007} settings for NICs can be passed to the provider
 *   <li>{@code EP-EFA-008} the limit on locked memory is high enough
 * </ul>
 */
final class EfaProbe {
    static final String DEVICE = "EP-EFA-001";
    static final String LIBRARY = "EP-EFA-002";
    static final String PROVIDER = "EP-EFA-003";
    static final String NIC = "EP-EFA-004";
    static final String DIRECT = "EP-EFA-005";
    static final String ENDPOINT = "EP-EFA-006";
    static final String SETTINGS = "EP-EFA-007";
    static final String MEMORY = "EP-EFA-008";

    private final ProbeReport.Builder report = ProbeReport.builder();

    private EfaProbe() {}

    static ProbeReport probe(ProbeRequest request) {
        EfaProbe probe = new EfaProbe();
        try {
            probe.run(request);
        } catch (EpException e) {
            probe.report.check(Check.fail(
                    PROVIDER,
                    String.valueOf(e.getMessage()),
                    "run fi_info, and set FI_LOG_LEVEL=warn for libfabric's log"));
        }
        return probe.report.build();
    }

    private void run(ProbeRequest request) {
        Check kind = PostedChecks.device(DEVICE, request.device());
        report.check(kind);
        if (kind.status() != Check.Status.PASS) {
            PostedChecks.notRun(report, LIBRARY, PROVIDER, NIC, DIRECT, ENDPOINT, SETTINGS, MEMORY);
            return;
        }
        try {
            FabricLibrary.JNI.load();
        } catch (JniLibrary.Missing e) {
            report.check(Check.fail(LIBRARY, String.valueOf(e.getMessage()), e.remedy()));
            PostedChecks.notRun(report, PROVIDER, NIC, DIRECT, ENDPOINT, SETTINGS, MEMORY);
            return;
        }
        report.check(Check.pass(LIBRARY, "libfabric.so.1 is loaded, version " + FabricLibrary.version()));
        try (FabricList list = FabricList.all(GpuMemory.wanted(request.device(), request.config()))) {
            look(list, request.device(), request.config());
        }
    }

    private void look(FabricList list, Device device, EpConfig config) {
        List<FabricInfo> usable = Providers.usable(list.infos(), config);
        if (usable.isEmpty()) {
            report.check(noProvider(list.infos(), config));
            PostedChecks.notRun(report, NIC, DIRECT, ENDPOINT, SETTINGS, MEMORY);
            return;
        }
        EfaFacts found = EfaFacts.of(usable);
        found.values().forEach(report::fact);
        report.check(Check.pass(
                PROVIDER,
                found.providers().stream()
                        .map(provider -> provider + " on " + String.join(", ", found.nics(provider)))
                        .collect(Collectors.joining("; "))));
        FabricInfo best = usable.get(0);
        report.fact(ProbeReport.SUMMARY, Providers.title(best.provider()) + " by libfabric " + FabricLibrary.version());
        boolean network = Providers.sockets(best.provider());
        boolean none = Providers.software(best.provider());
        report.check(network ? EfaOffer.sockets() : Check.pass(NIC, best.provider() + " on " + best.device()));
        report.check(direct(device, config, best));
        report.check(endpoint(list, best, config));
        report.check(settings(config));
        report.check(
                none ? Check.pass(MEMORY, best.provider() + " locks no memory") : PostedChecks.lockedMemory(MEMORY));
    }

    /** What there is besides, for one who named something else. */
    static Check noProvider(List<FabricInfo> all, EpConfig config) {
        String wanted = EfaKeys.PROVIDER.get(config);
        String there = all.stream().map(FabricInfo::provider).distinct().collect(Collectors.joining(", "));
        String interfaces = EfaKeys.INTERFACE.get(config);
        return Check.fail(
                PROVIDER,
                EfaKeys.PROVIDER.name() + "=" + wanted
                        + " matches no libfabric provider with reliable datagrams, remote writes and immediate data"
                        + (interfaces.isEmpty() ? "" : " on interface " + interfaces)
                        + "; available: " + (there.isEmpty() ? "none" : there),
                "set " + EfaKeys.PROVIDER.name() + " to an available provider or to auto"
                        + (interfaces.isEmpty() ? "" : ", see " + EfaKeys.INTERFACE.name())
                        + ", or install the provider (fi_info -t FI_EP_RDM -c FI_RMA); the variable FI_PROVIDER can"
                        + " hide providers");
    }

    private static Check direct(Device device, EpConfig config, FabricInfo info) {
        if (device.equals(Device.HOST)) {
            return Check.pass(DIRECT, "every NIC reaches host memory directly");
        }
        Optional<GpuDirect> facts = CudaNicMemory.facts(device).or(() -> HipNicMemory.facts(device));
        return Registrable.of(facts, kind -> GpuMemory.refusal(kind, info, Libfabric.version(), 0))
                .check(DIRECT, config);
    }

    private static Check endpoint(FabricList list, FabricInfo info, EpConfig config) {
        String name = info.provider() + " on " + info.domain();
        try (Resources resources = new Resources()) {
            NicProfile profile = NicProfile.of(info, config);
            FabricDomain domain = FabricDomain.open(list, info, profile, -1, resources);
            long endpoint = domain.endpoint(profile.slots());
            resources.add(() -> Libfabric.closeEndpoint(endpoint));
            return Check.pass(ENDPOINT, "endpoint of " + name + " opens");
        } catch (EpException e) {
            return Check.fail(
                    ENDPOINT,
                    "endpoint of " + name + " does not open: " + e.getMessage(),
                    "run as a user who may use the device (containers: docker run --device=/dev/infiniband), or set "
                            + EfaKeys.PROVIDER.name() + " to another provider");
        }
    }

    /** Settings that libfabric has no call for. */
    static Check settings(EpConfig config) {
        List<String> lost = new ArrayList<>();
        if (EpKeys.NIC_GID_INDEX.get(config) >= 0) {
            lost.add(EpKeys.NIC_GID_INDEX.name());
        }
        if (EpKeys.NIC_SERVICE_LEVEL.get(config) >= 0) {
            lost.add(EpKeys.NIC_SERVICE_LEVEL.name());
        }
        return lost.isEmpty()
                ? Check.pass(SETTINGS, "no setting is ignored")
                : Check.warn(
                        SETTINGS,
                        "libfabric has no call to set GID index or service level, so this backend ignores "
                                + String.join(" and ", lost),
                        "set FI_VERBS_GID_IDX for the verbs provider; EFA and TCP have neither GID index nor service"
                                + " level");
    }
}
