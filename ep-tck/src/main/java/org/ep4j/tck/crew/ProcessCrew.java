package org.ep4j.tck.crew;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
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
 * Ranks that are processes of this machine, one JVM each with this JVM's class path, joined over loopback TCP. A rank's
 * death is SIGKILL.
 */
public final class ProcessCrew implements RankCrew {
    private static final Duration START = Duration.ofSeconds(90);
    private static final Duration DUMP = Duration.ofSeconds(60);

    private final List<RankProcess> processes = new ArrayList<>();
    private final BlockingQueue<RankProcess.Event> events = new LinkedBlockingQueue<>();
    private boolean usable = true;

    /**
     * Starts the processes and waits until they have joined.
     *
     * @param heap largest heap of each, as in {@code -Xmx}: 512m
     */
    public ProcessCrew(int size, String heap) {
        this(size, heap, Map.of());
    }

    /**
     * Starts the processes as {@link #ProcessCrew(int, String)} does.
     *
     * @param more environment variables on top of this process's
     */
    public ProcessCrew(int size, String heap, Map<String, String> more) {
        this(size, heap, more, (rank, port) -> Map.of());
    }

    /** Environment variables of one rank, on top of all others. */
    @FunctionalInterface
    public interface OwnEnvironment {
        /**
         * Called once for each rank, before its process starts.
         *
         * @param port of the rendezvous on the loopback interface
         */
        Map<String, String> of(int rank, int port);
    }

    /**
     * Starts the processes as {@link #ProcessCrew(int, String)} does.
     *
     * @param more environment variables on top of this process's
     * @param own variables of each rank, for example another {@code MASTER_PORT} to meet through
     */
    public ProcessCrew(int size, String heap, Map<String, String> more, OwnEnvironment own) {
        String secret = randomSecret();
        try (KeptPort port = KeptPort.take()) {
            for (int rank = 0; rank < size; rank++) {
                Map<String, String> all = new TreeMap<>(more);
                all.putAll(environment(rank, size, port.number()));
                all.put(
                        EpKeys.SETUP_TIMEOUT.environmentName(),
                        Patience.here(START).toSeconds() + "s");
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
     * Torchrun's variables for a rank that is a process of this machine.
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

    /** A secret that only the ranks of one job know. */
    public static String randomSecret() {
        byte[] key = new byte[32];
        new SecureRandom().nextBytes(key);
        return HexFormat.of().formatHex(key);
    }

    private void awaitReady(int size) {
        Set<Integer> missing = IntStream.range(0, size).boxed().collect(Collectors.toCollection(TreeSet::new));
        long end = System.nanoTime() + Patience.here(START).toNanos();
        while (!missing.isEmpty()) {
            Optional<RankProcess.Event> event = next(end);
            boolean fine = event.flatMap(RankProcess.Event::message)
                    .filter(m -> m.kind() == Wire.Kind.READY)
                    .isPresent();
            if (!fine) {
                String who = event.map(e -> "rank " + e.rank() + " ended with "
                                + processes.get(e.rank()).exit()
                                + processes.get(e.rank()).printed())
                        .orElseGet(() -> "ranks " + missing + " were not ready after " + Patience.here(START)
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

    /** Process ids of the ranks. */
    public List<Long> pids() {
        return processes.stream().map(RankProcess::pid).toList();
    }

    @Override
    public List<RankReport> run(Job job) {
        processes.subList(0, job.ranks()).forEach(p -> p.send(Wire.Message.run(job)));
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
        return reports.values().stream()
                .sorted(Comparator.comparingInt(RankReport::rank))
                .toList();
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
        // One that asked for it is killed, and so is one that failed: the others need not wait for it.
        report.filter(one -> one.end() != RankReport.End.DONE).ifPresent(one -> process.kill());
        return report.map(one -> one.end() == RankReport.End.FAILED
                ? new RankReport(one.rank(), one.end(), one.detail() + process.printed(), one.facts(), one.nanos())
                : one);
    }

    private void reportHung(Job job, Map<Integer, RankReport> reports) {
        Map<Integer, String> stacks = new TreeMap<>();
        for (int rank = 0; rank < job.ranks(); rank++) {
            if (!reports.containsKey(rank)) {
                processes.get(rank).send(Wire.Message.of(Wire.Kind.DUMP));
            }
        }
        long end = System.nanoTime() + Patience.here(DUMP).toNanos();
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
                    .filter(m -> m.kind() == Wire.Kind.STACKS)
                    .ifPresent(m -> stacks.put(rank, m.stacks()));
        }
        for (int rank = 0; rank < job.ranks(); rank++) {
            String seen = stacks.getOrDefault(rank, "(no answer)")
                    + processes.get(rank).printed();
            reports.putIfAbsent(rank, RankReport.hung(rank, job, seen));
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
