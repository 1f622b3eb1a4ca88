package org.ep4j.cli.soak;

import java.math.BigInteger;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpException;
import org.ep4j.cli.launch.JavaCommand;
import org.ep4j.cli.soak.RankHandle.Event;

/** Ranks that serve one round after another; those that were lost are replaced. */
final class Crew implements AutoCloseable {
    /** Data lies outside the heap. */
    private static final List<String> JVM_OPTIONS = List.of(
            "-XX:+UseSerialGC", "-Xms64m", "-Xmx1g", "-XX:MaxDirectMemorySize=4g", "-XX:-UsePerfData", "-Xshare:auto");

    /** Where ranks outnumber processors, these are left to the exchanges. */
    private static final String QUICK_COMPILER = "-XX:TieredStopAtLevel=1";

    private final SoakSpec spec;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final List<RankHandle> ranks = new CopyOnWriteArrayList<>();
    private final String secret = new BigInteger(160, new SecureRandom()).toString(36);
    private volatile boolean closed;
    private int started;

    Crew(SoakSpec spec) {
        this.spec = spec;
    }

    /** Ranks of the next round, the seats turned by {@code turn}, so that every process has every rank at times. */
    List<RankHandle> take(int count, int turn) {
        while (ranks.size() < count) {
            ranks.add(start());
        }
        List<RankHandle> taken = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            taken.add(ranks.get((i + turn) % ranks.size()));
        }
        return taken;
    }

    private RankHandle start() {
        int number = started++;
        RankHandle rank = spec.processes()
                ? new ProcessRank(
                        number,
                        JavaCommand.of(options(), RankMain.class.getName(), List.of()),
                        Map.of("EP_BOOTSTRAP_SECRET", secret),
                        log(number),
                        events)
                : new ThreadRank(number, events);
        return rank;
    }

    private List<String> options() {
        List<String> options = new ArrayList<>(JVM_OPTIONS);
        options.add("-XX:ErrorFile=" + spec.logs().resolve("crash-%p.log"));
        if (spec.ranks() > Runtime.getRuntime().availableProcessors()) {
            options.add(QUICK_COMPILER);
        }
        return options;
    }

    private Path log(int number) {
        return spec.logs().resolve("rank-" + number + ".log");
    }

    /** Next event; empty when {@code end}, a time of {@link System#nanoTime}, comes first. */
    Optional<Event> next(long end) {
        try {
            return Optional.ofNullable(events.poll(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpException("interrupted", e);
        }
    }

    /** Kills a rank, which takes part in no further round. */
    void discard(RankHandle rank) {
        if (ranks.remove(rank)) {
            rank.close();
        }
    }

    /** True when ranks end because the run does. */
    boolean isClosed() {
        return closed;
    }

    /** Also called by another thread, when this process is asked to end. */
    @Override
    public void close() {
        closed = true;
        ranks.forEach(RankHandle::close);
        ranks.clear();
    }
}
