package org.ep4j.tck.ranks;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.oracle.Patience;

/**
 * Ranks that are processes of this machine, one JVM each with this JVM's class path, joined over loopback TCP. A rank is killed by
 * SIGKILL.
 */
public final class ProcessRankPool implements RankPool {
    private static final Duration START = Duration.ofSeconds(90);
    private static final Duration DUMP = Duration.ofSeconds(60);

    private final List<RankProcess> processes = new ArrayList<>();
    private final BlockingQueue<RankProcess.Event> events = new LinkedBlockingQueue<>();
    private boolean usable = true;

    /** Environment variables that differ between ranks. */
    @FunctionalInterface
    public interface RankEnvironment {
        /**
         * Returns the variables of a rank, before its process starts.
         *
         * @param port of the rendezvous on the loopback interface
         */
        Map<String, String> of(int rank, int port);
    }

    /**
     * Starts the processes and waits until they have joined.
     *
     * @param heap largest heap of each, as in {@code -Xmx}: 512m
     * @param more environment variables on top of this process's
     */
    public ProcessRankPool(int size, String heap, Map<String, String> more) {
        this(size, heap, more, (rank, port) -> Map.of());
    }

    /**
     * Starts the processes as {@link #ProcessRankPool(int, String, Map)} does.
     *
     * @param own variables of each rank on top of all others, for example another {@code MASTER_PORT} to join through
     */
    public ProcessRankPool(int size, String heap, Map<String, String> more, RankEnvironment own) {
        String secret = randomSecret();
        try (ReservedPort port = ReservedPort.reserve()) {
            for (int rank = 0; rank < size; rank++) {
                Map<String, String> all = new TreeMap<>(more);
                all.putAll(environment(rank, size, port.number()));
                all.put(
                        EpKeys.SETUP_TIMEOUT.environmentName(),
                        Patience.scaled(START).toSeconds() + "s");
                all.put(EpKeys.BOOTSTRAP_SECRET.environmentName(), secret);
                all.putAll(own.of(rank, port.number()));
                processes.add(new RankProcess(rank, all, heap, events));
            }
            awaitReady(size);
        } catch (RuntimeException e) {
            usable = false;
            close();
            throw e;
        }
    }

    /**
     * Returns torchrun's variables for a rank that is a process of this machine.
     *
     * @param port of the rendezvous on the loopback interface
     */
    public static Map<String, String> environment(int rank, int size, int port) {
        return Map.of(
                "RANK",
                Integer.toString(rank),
                "LOCAL_RANK",
                Integer.toString(rank),
                "WORLD_SIZE",
                Integer.toString(size),
                "LOCAL_WORLD_SIZE",
                Integer.toString(size),
                "MASTER_ADDR",
                "127.0.0.1",
                "MASTER_PORT",
                Integer.toString(port),
                // A setting of the machine for jobs of several hosts would refuse loopback.
                EpKeys.BOOTSTRAP_INTERFACE.environmentName(),
                "");
    }

    /** Returns a random secret for the ranks of one job. */
    public static String randomSecret() {
        byte[] key = new byte[32];
        new SecureRandom().nextBytes(key);
        return HexFormat.of().formatHex(key);
    }

    private void awaitReady(int size) {
        Set<Integer> missing = IntStream.range(0, size).boxed().collect(Collectors.toCollection(TreeSet::new));
        long end = System.nanoTime() + Patience.scaled(START).toNanos();
        while (!missing.isEmpty()) {
            Optional<RankProcess.Event> event = next(end);
            boolean ready = event.flatMap(RankProcess.Event::message)
                    .filter(m -> m.kind() == RankProtocol.Kind.READY)
                    .isPresent();
            if (!ready) {
                String who = event.map(e -> "rank " + e.rank() + " ended with "
                                + processes.get(e.rank()).exit()
                                + processes.get(e.rank()).printed())
                        .orElseGet(() -> "ranks " + missing + " were not ready after " + Patience.scaled(START)
                                + missing.stream()
                                        .map(rank -> processes.get(rank).printed())
                                        .collect(Collectors.joining()));
                throw new IllegalStateException("starting " + size + " rank processes failed: " + who);
            }
            missing.remove(event.get().rank());
        }
    }

    private Optional<RankProcess.Event> next(long end) {
        try {
            return Optional.ofNullable(events.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    @Override
    public int size() {
        return processes.size();
    }

    @Override
    public boolean usable() {
        return usable;
    }

    /** Returns the process ids of the ranks. */
    public List<Long> pids() {
        return processes.stream().map(RankProcess::pid).toList();
    }

    @Override
    public List<RankReport> run(Job job) {
        processes.subList(0, job.ranks()).forEach(p -> p.send(RankProtocol.Message.run(job)));
        Map<Integer, RankReport> reports = new TreeMap<>();
        long end = System.nanoTime() + job.timeout().toNanos();
        while (reports.size() < job.ranks()) {
            Optional<RankProcess.Event> event = next(end);
            if (event.isEmpty()) {
                reportHung(job, reports);
                break;
            }
            int rank = event.get().rank();
            if (!reports.containsKey(rank) && rank < job.ranks()) {
                report(event.get()).ifPresent(report -> reports.put(rank, report));
            }
        }
        usable = reports.values().stream().allMatch(r -> r.end() == RankReport.End.DONE);
        return List.copyOf(reports.values());
    }

    private Optional<RankReport> report(RankProcess.Event event) {
        RankProcess process = processes.get(event.rank());
        if (event.message().isEmpty()) {
            return Optional.of(new RankReport(
                    event.rank(),
                    RankReport.End.FAILED,
                    "the process ended unexpectedly with " + process.exit() + process.printed(),
                    Map.of(),
                    System.nanoTime()));
        }
        Optional<RankReport> report = event.message().get().report();
        // A rank that failed is killed, too, so that the others need not wait for it.
        report.filter(one -> one.end() != RankReport.End.DONE).ifPresent(one -> process.kill());
        return report.map(one -> one.end() == RankReport.End.FAILED
                ? new RankReport(one.rank(), one.end(), one.detail() + process.printed(), one.facts(), one.nanos())
                : one);
    }

    private void reportHung(Job job, Map<Integer, RankReport> reports) {
        Map<Integer, String> stacks = new TreeMap<>();
        for (int rank = 0; rank < job.ranks(); rank++) {
            if (!reports.containsKey(rank)) {
                processes.get(rank).send(RankProtocol.Message.of(RankProtocol.Kind.DUMP));
            }
        }
        long end = System.nanoTime() + Patience.scaled(DUMP).toNanos();
        while (stacks.size() + reports.size() < job.ranks()) {
            Optional<RankProcess.Event> event = next(end);
            if (event.isEmpty()) {
                break;
            }
            int rank = event.get().rank();
            if (event.get().message().isEmpty() && !reports.containsKey(rank)) {
                stacks.put(rank, "(it ended)");
            }
            event.get()
                    .message()
                    .filter(m -> m.kind() == RankProtocol.Kind.STACKS)
                    .ifPresent(m -> stacks.put(rank, m.stacks()));
        }
        for (int rank = 0; rank < job.ranks(); rank++) {
            String dump = stacks.getOrDefault(rank, "(no answer)")
                    + processes.get(rank).printed();
            reports.putIfAbsent(rank, RankReport.hung(rank, job, dump));
        }
    }

    @Override
    public void close() {
        if (!usable) {
            processes.forEach(RankProcess::kill);
        }
        processes.forEach(RankProcess::endInput);
        processes.forEach(RankProcess::close);
        usable = false;
    }
}
