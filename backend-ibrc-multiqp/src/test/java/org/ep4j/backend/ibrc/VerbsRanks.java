package org.ep4j.backend.ibrc;

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

/** Two ranks on real verbs: plans over given ports, contexts, threads. */
final class VerbsRanks {
    static final Duration DEADLINE = Duration.ofSeconds(60);

    private VerbsRanks() {}

    /** What one rank does. */
    interface Part {
        void run(OpenContext context);
    }

    /** A plan of two ranks over ports of theirs, with so many queue pairs for each port. */
    static EpPlan plan(List<String> first, List<String> second, int queuePairs) {
        List<RankProfile> profiles = IntStream.range(0, 2)
                .mapToObj(rank -> new RankProfile(
                        rank,
                        "host-" + rank,
                        "host-" + rank,
                        1000 + rank,
                        Device.HOST,
                        Map.of(IbrcProvider.ID, new RankProfile.BackendProfile(true, "", Map.of())),
                        Map.of()))
                .toList();
        int lanes = queuePairs * Math.max(first.size(), second.size());
        return EpPlan.of(profiles, List.of(local(0), path(0, 1, first, lanes), path(1, 0, second, lanes), local(1)));
    }

    private static PairPath local(int rank) {
        return new PairPath(
                rank, rank, "local", new PathOffer(PathKind.LOCAL, 1000, 0.1, List.of()), List.of(), List.of(), 1);
    }

    private static PairPath path(int from, int to, List<String> nics, int lanes) {
        PathOffer offer = new PathOffer(PathKind.HOST_POSTED, 10, 4, nics);
        return new PairPath(from, to, IbrcProvider.ID, offer, List.of(), nics, lanes);
    }

    static EpConfig config(Map<String, String> settings) {
        EpConfig.Builder builder = EpConfig.builder(Map.of(), Map.of());
        List<org.ep4j.config.ConfigKey<?>> keys = new ArrayList<>(IbrcKeys.all());
        keys.addAll(EpKeys.all());
        settings.forEach((name, value) -> builder.set(
                keys.stream()
                        .filter(key -> key.name().equals(name))
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("no setting " + name)),
                value));
        return builder.build();
    }

    static OpenContext context(EpPlan plan, int rank, Bootstrap bootstrap, EpConfig config) {
        return new OpenContext(plan, rank, List.of(0, 1), bootstrap, new HostDevice(), config, DEADLINE);
    }

    /** Lets two threads be ranks; throws what the first that failed threw. */
    static void run(EpPlan plan, EpConfig config, Part part) {
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
            future.get(300, TimeUnit.SECONDS);
            return Optional.empty();
        } catch (ExecutionException e) {
            return Optional.of(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            return Optional.of(e);
        }
    }
}
