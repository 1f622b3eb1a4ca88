package org.ep4j.tck.mapped;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Planner;
import org.ep4j.plan.ProfileCodec;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.transport.memory.EngineDevice;

/**
 * One of several ranks of one host that one backend connects, with an open device and a plan of all ranks.
 *
 * @param provider the backend
 * @param open context in which the backend is opened
 */
public record MappedRank(EpBackendProvider provider, OpenContext open) implements AutoCloseable {
    /** Longest time of any step. */
    public static final Duration DEADLINE = Patience.scaled(Duration.ofSeconds(60));

    /**
     * Probes, and plans with all ranks of the job. Collective.
     *
     * @param context of the rank, whose settings name the device
     * @param backend id of the backend
     * @param change of the rank's profile, or the identity
     * @throws AssertionError when the backend is not on the class path, or its probe fails here
     */
    public static MappedRank of(RankContext context, String backend, UnaryOperator<RankProfile> change) {
        EpBackendProvider provider =
                TckSubject.backendProvider(backend).orElseThrow(() -> new AssertionError("no " + backend));
        EpConfig config = context.config(Map.of());
        Device id = Device.parse(EpKeys.DEVICE.get(config));
        ProbeReport report = provider.probe(ProbeRequest.of(id, config, DEADLINE));
        if (!report.failures().isEmpty()) {
            throw new AssertionError(backend + " cannot be used with " + id + ": " + report.failures());
        }
        RankProfile mine = change.apply(RankProfile.builder(context.rank(), "h", id)
                .pid(ProcessHandle.current().pid())
                .backends(Map.of(backend, BackendProfile.of(report.facts(), report.identity())))
                .build());
        List<RankProfile> profiles = context.allGather(ProfileCodec.encode(mine)).stream()
                .map(ProfileCodec::decode)
                .toList();
        GroupPlan plan =
                Planner.plan(profiles, List.of(new Planner.Candidate(backend, provider::offer)), BackendChoice.AUTO);
        EpDevice device = TckSubject.deviceProvider(id.type())
                .orElseThrow(() -> new AssertionError("no " + id.type()))
                .open(id);
        return new MappedRank(
                provider,
                OpenContext.builder(plan, profiles, context.newBootstrap(), device)
                        .config(config)
                        .timeout(DEADLINE)
                        .build());
    }

    /** Opens the backend. Collective. */
    public EpBackend backend() {
        return provider.open(open);
    }

    /** Closes the device. */
    @Override
    public void close() {
        EngineDevice.of(open.device()).close();
    }
}
