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
 * Two ranks on one host with host memory, which a backend connects. Their host names are {@code host-0} and {@code host-1}.
 *
 * @param provider the backend
 * @param plan from {@link #plan}
 * @param config from {@link #config}
 * @param patience longest time of any step, a guard against hanging: a minute or more
 */
public record TwoRanks(EpBackendProvider provider, GroupPlan plan, EpConfig config, Duration patience) {
    /** Longest time of {@link #run}, in multiples of the patience. */
    private static final int WHOLE = 6;

    /** The code of one rank. */
    public interface Part {
        /** Runs on one rank; every exception is a failure. */
        void run(OpenContext context);
    }

    /**
     * Returns a plan of the two ranks over given ports.
     *
     * @param backend id of the backend
     * @param facts of its probe
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
     * Returns settings by name, without those of the process.
     *
     * @throws org.ep4j.EpConfigException when neither ep4j nor the backend declares one of them
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

    /** Returns the context in which the backend is opened on one rank. */
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
     * Runs the ranks as two threads.
     *
     * @throws AssertionError with the first failure as cause; that of the other rank is suppressed
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
