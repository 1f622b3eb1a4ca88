package org.ep4j.backend.efa;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;

/** Two ranks over libfabric: plans, contexts, threads. */
final class FabricRanks {
    static final Duration DEADLINE = Duration.ofSeconds(30);

    private FabricRanks() {}

    /** What one rank does. */
    interface Part {
        void run(OpenContext context);
    }

    /** A plan of two ranks on one host, with what this machine has. */
    static EpPlan plan(EpConfig config) {
        ProbeReport report = new EfaProvider().probe(new ProbeRequest(Device.HOST, config, DEADLINE));
        if (!report.usable()) {
            throw new AssertionError(report.failures().toString());
        }
        List<RankProfile> profiles = IntStream.range(0, 2)
                .mapToObj(rank -> new RankProfile(
                        rank,
                        "host",
                        "host-" + rank,
                        1000 + rank,
                        Device.HOST,
                        Map.of(EfaProvider.ID, new RankProfile.BackendProfile(true, "", report.facts())),
                        Map.of()))
                .toList();
        return EpPlan.of(profiles, List.of(local(0), path(0, 1), path(1, 0), local(1)));
    }

    private static PairPath local(int rank) {
        return new PairPath(
                rank, rank, "local", new PathOffer(PathKind.LOCAL, 1000, 0.1, List.of()), List.of(), List.of(), 1);
    }

    private static PairPath path(int from, int to) {
        PathOffer offer = new PathOffer(PathKind.HOST_POSTED, 1, 30, List.of());
        return new PairPath(from, to, EfaProvider.ID, offer, List.of(), List.of(), 1);
    }

    static EpConfig config(Map<String, String> settings) {
        EpConfig.Builder builder = EpConfig.builder(Map.of(), Map.of());
        List<ConfigKey<?>> keys = new ArrayList<>(EfaKeys.all());
        keys.addAll(EpKeys.all());
        settings.forEach((name, value) ->
                keys.stream().filter(key -> key.name().equals(name)).forEach(key -> builder.set(key, value)));
        return builder.build();
    }

    static OpenContext context(EpPlan plan, int rank, Bootstrap bootstrap, EpConfig config) {
        return new OpenContext(plan, rank, List.of(0, 1), bootstrap, new HostDevice(), config, DEADLINE);
    }

    /** Lets two threads be ranks; throws what the first that failed threw. */
    static void run(EpConfig config, Part part) {
        EpPlan plan = plan(config);
        List<Bootstrap> members = Bootstraps.inProcess(2);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<?>> futures = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int rank = i;
                futures.add(threads.submit(() -> part.run(context(plan, rank, members.get(rank), config))));
            }
            List<Throwable> failures = new ArrayList<>();
            futures.forEach(future -> outcome(future).ifPresent(failures::add));
            if (!failures.isEmpty()) {
                AssertionError error = new AssertionError("a rank failed: " + failures.get(0), failures.get(0));
                failures.subList(1, failures.size()).forEach(error::addSuppressed);
                throw error;
            }
        } finally {
            threads.shutdownNow();
            members.forEach(Bootstrap::close);
        }
    }

    private static Optional<Throwable> outcome(Future<?> future) {
        try {
            future.get(120, TimeUnit.SECONDS);
            return Optional.empty();
        } catch (ExecutionException e) {
            return Optional.of(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            return Optional.of(e);
        }
    }
}
