package org.ep4j.cli.fifo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.LongStream;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.cli.fifo.FifoReport.Rate;
import org.ep4j.cli.fifo.FifoReport.RoundTrips;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.spi.DeviceProvider;

/** Measures; Java and C++ take turns, so that both see the same machine. */
public final class FifoBench {
    /** Turns of round trips. */
    private static final int TURNS = 10;

    private static final long LONGEST_NANOS = 20_000_000_000L;

    private final FifoSpec spec;
    private final Progress progress;
    private int done;
    private final List<String> problems = new ArrayList<>();

    /** Hears what is measured next. */
    public interface Progress {
        /** So many of all runs are done. */
        void step(int done, int total, String what);
    }

    /** Measures nothing yet. */
    public FifoBench(FifoSpec spec, Progress progress) {
        this.spec = spec;
        this.progress = progress;
    }

    /**
     * Runs it.
     *
     * @throws org.ep4j.EpUnavailableException where there is no such device, or no C++ to compare with
     */
    public FifoReport run() {
        switch (spec.library()) {
            case "none" -> {}
            case "" -> NativeLibrary.buildAndLoad();
            default -> NativeLibrary.load(java.nio.file.Path.of(spec.library()));
        }
        int most = spec.threads().stream().mapToInt(t -> t).max().orElse(1) * spec.rings();
        if (!spec.device().isGpu()) {
            try (Producers producers = new HostProducers(most, spec.ringCommands(), spec.producers(1))) {
                return measure(producers);
            }
        }
        try (EngineGpu device = open(spec.device());
                Producers producers = new GpuProducers(device, most, spec.ringCommands(), spec.producers(256))) {
            return measure(producers);
        }
    }

    private static EngineGpu open(Device device) {
        for (DeviceProvider provider : ServiceLoader.load(DeviceProvider.class)) {
            if (provider.type().equals(device.type()) && provider.open(device) instanceof EngineGpu gpu) {
                return gpu;
            }
        }
        throw new EpArgumentException("--device", device, "host, or cuda with a GPU that works", "see ./ep doctor");
    }

    private List<Consumers> consumers() {
        return spec.library().equals("none") ? List.of(Consumers.JAVA) : List.of(Consumers.JAVA, Consumers.CPP);
    }

    private FifoReport measure(Producers producers) {
        Garbage garbage = new Garbage(spec.garbage());
        try {
            Garbage.Collections before = Garbage.Collections.now();
            List<Rate> rates = new ArrayList<>();
            for (int threads : spec.threads()) {
                rates.addAll(rates(producers, threads));
            }
            List<RoundTrips> roundTrips = roundTrips(producers);
            Garbage.Collections collected = Garbage.Collections.now().since(before);
            return new FifoReport(
                    producers.name(),
                    producers.each(),
                    spec.ringCommands(),
                    rates,
                    roundTrips,
                    collected.names(),
                    collected.collections(),
                    collected.millis(),
                    spec.garbage(),
                    problems);
        } finally {
            garbage.close();
        }
    }

    private void next(String what) {
        int total = consumers().size() * (spec.threads().size() * (spec.repeats() + 1) + TURNS + 1);
        progress.step(done, total, what);
        done++;
    }

    private List<Rate> rates(Producers producers, int threads) {
        int rings = threads * spec.rings();
        long each = Math.max(1, spec.commands() / ((long) rings * producers.each()));
        long all = each * rings * producers.each();
        long sum = Pattern.sum(all);
        Map<Consumers, List<Double>> perSecond = new LinkedHashMap<>();
        // The first run of each counts for nothing: code is compiled, memory touched.
        for (int run = -1; run < spec.repeats(); run++) {
            for (Consumers by : consumers()) {
                next(rings + " rings read by " + threads + " threads in " + by.text());
                double rate = rate(producers, by, threads, rings, each, all, sum);
                if (run >= 0) {
                    perSecond.computeIfAbsent(by, b -> new ArrayList<>()).add(rate);
                }
            }
        }
        List<Rate> rates = new ArrayList<>();
        perSecond.forEach((by, values) -> rates.add(new Rate(threads, rings, all, by.text(), values)));
        return rates;
    }

    private double rate(Producers producers, Consumers by, int threads, int rings, long each, long all, long sum) {
        producers.clear();
        Consumers.Running running = by.start(producers.ringMemory(), threads, rings);
        long start;
        long end;
        long added;
        try {
            start = producers.fill(rings, each);
            end = awaitConsumed(producers.ringMemory(), rings, all);
        } finally {
            added = running.close();
        }
        if (added != sum) {
            problems.add(by.text() + ", " + threads + " threads: the fields of " + all + " commands add up to " + added
                    + " and not to " + sum);
        }
        return all * 1e9 / (end - start);
    }

    private static long awaitConsumed(RingMemory ringMemory, int rings, long all) {
        long start = System.nanoTime();
        while (true) {
            long consumed = ringMemory.consumed(rings);
            long now = System.nanoTime();
            if (consumed == all) {
                return now;
            }
            if (now - start > LONGEST_NANOS) {
                throw new EpTimeoutException(
                        "the proxy threads consumed only " + consumed + " of " + all
                                + " commands within 20 s after the last command was queued",
                        EpFailure.builder("commands", -1)
                                .expected(all)
                                .seen(consumed)
                                .build());
            }
            Thread.onSpinWait();
        }
    }

    /** In ten turns each, of which the first counts for nothing. */
    private List<RoundTrips> roundTrips(Producers producers) {
        int count = Math.max(1, spec.pings() / TURNS);
        Map<Consumers, LongStream.Builder> times = new LinkedHashMap<>();
        for (int turn = -1; turn < TURNS; turn++) {
            for (Consumers by : consumers()) {
                next("round trips to a thread in " + by.text());
                producers.clear();
                Consumers.Running running = by.start(producers.ringMemory(), 1, 1);
                long[] nanos;
                try {
                    nanos = producers.ping(count);
                } finally {
                    running.close();
                }
                if (turn >= 0) {
                    LongStream.of(nanos).forEach(times.computeIfAbsent(by, b -> LongStream.builder())::add);
                }
            }
        }
        List<RoundTrips> all = new ArrayList<>();
        times.forEach(
                (by, nanos) -> all.add(RoundTrips.of(by.text(), nanos.build().toArray())));
        if (all.isEmpty()) {
            throw new EpException("nothing was measured");
        }
        return all;
    }
}
