package org.ep4j.tck.writes;

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
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Settings;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RankProfile;
import org.ep4j.transport.memory.HostDevice;

/**
 * Two ranks on one host with host memory, which a backend connects. Their machines are named {@code host-0} and {@code host-1}.
 *
 * @param provider the backend
 * @param plan as {@link #plan}
 * @param config as {@link #config}
 * @param patience longest time that anything may take that should be quick, a guard against hanging: a minute or more
 */
public record TwoRanks(EpBackendProvider provider, GroupPlan plan, EpConfig config, Duration patience) {
    /** Everything that two ranks do in {@link #run} may take so many times their patience. */
    private static final int WHOLE = 6;

    /** What one rank does. */
    public interface Part {
        /** Does it; whatever it throws is a failure. */
        void run(OpenContext context);
    }

    /**
     * A plan of the two, over given ports of theirs.
     *
     * @param backend its id
     * @param facts what its probe reported
     * @param first ports of rank 0, as {@code name:port}
     * @param second ports of rank 1
     */
    public static GroupPlan plan(
            String backend, Map<String, String> facts, List<String> first, List<String> second, int lanes) {
        List<RankProfile> profiles = IntStream.range(0, 2)
                .mapToObj(rank -> RankProfile.builder(rank, "host", Device.HOST)
                        .hostName("host-" + rank)
                        .pid(1000 + rank)
                        .backends(Map.of(backend, RankProfile.BackendProfile.of(facts, Map.of())))
                        .build())
                .toList();
        return GroupPlan.of(
                profiles, List.of(local(0), path(backend, 0, first, lanes), path(backend, 1, second, lanes), local(1)));
    }

    private static EpPath local(int rank) {
        return EpPath.builder(rank, rank, "local", EpPath.Kind.LOCAL).build();
    }

    private static EpPath path(String backend, int from, List<String> nics, int lanes) {
        return EpPath.builder(from, 1 - from, backend, EpPath.Kind.HOST_POSTED)
                .nics(nics)
                .lanes(lanes)
                .gigabytesPerSecond(10)
                .latencyMicros(4)
                .build();
    }

    /**
     * Settings by name, without those of the process.
     *
     * @throws org.ep4j.EpConfigException when neither ep4j nor the backend has one of them
     */
    public static EpConfig config(EpBackendProvider provider, Map<String, String> settings) {
        EpConfig.Builder builder = EpConfig.builder(Map.of(), Map.of());
        settings.forEach(builder::set);
        EpConfig config = builder.build();
        List<ConfigKey<?>> known = new ArrayList<>(EpKeys.all());
        known.addAll(provider.configKeys());
        Settings.check(config, known);
        return config;
    }

    /** What the backend is opened with on one of them. */
    public OpenContext context(Bootstrap bootstrap) {
        return OpenContext.builder(plan, plan.profiles(), bootstrap, new HostDevice())
                .config(config)
                .timeout(patience)
                .build();
    }

    /**
     * Opens the backend for writes of up to {@code largest} bytes.
     *
     * @param slotBytes bytes of a slot, a multiple of 4096
     */
    public WriteExchange exchange(OpenContext context, int slotBytes, int largest) {
        return new WriteExchange(provider, context, slotBytes, largest, patience);
    }

    /**
     * Lets two threads be the ranks.
     *
     * @throws AssertionError with what the first that failed threw; what the other threw is suppressed in it
     */
    public void run(Part part) {
        List<Bootstrap> members = Bootstrap.inProcess(2);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<?>> futures = members.stream()
                    .<Future<?>>map(member -> threads.submit(() -> part.run(context(member))))
                    .toList();
            List<Throwable> failures =
                    futures.stream().flatMap(future -> outcome(future).stream()).toList();
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

    private Optional<Throwable> outcome(Future<?> future) {
        try {
            future.get(WHOLE * patience.toMillis(), TimeUnit.MILLISECONDS);
            return Optional.empty();
        } catch (ExecutionException e) {
            return Optional.ofNullable(e.getCause());
        } catch (TimeoutException e) {
            return Optional.of(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of(e);
        }
    }
}
