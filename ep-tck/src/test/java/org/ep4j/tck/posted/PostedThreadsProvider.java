package org.ep4j.tck.posted;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.EpPath;
import org.ep4j.config.ConfigKey;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;

/**
 * Posted paths between ranks that are threads of this JVM, with the weakest order that the contract allows: see {@link PostedThreadsLink}.
 * Ranks may be put on simulated hosts, inside which paths are of another kind.
 */
public final class PostedThreadsProvider implements EpBackendProvider {
    static final String ID = "posted-threads";

    /** Simulated host of this rank. */
    static final ConfigKey<String> HOST = ConfigKey.text("ep.posted-threads.host", "", "name of a simulated host");

    /** Paths inside a simulated host. */
    static final ConfigKey<String> INSIDE = ConfigKey.choice(
                    "ep.posted-threads.inside",
                    "posted",
                    List.of("posted", "mapped", "nothing", "device-posted"),
                    "paths between ranks of one simulated host")
            .agreedByAllRanks();

    /** Seed of delays and order. */
    static final ConfigKey<Integer> SEED = ConfigKey.integer(
                    "ep.posted-threads.seed", 1, 0, Integer.MAX_VALUE, "seed of delays and order of posted writes")
            .agreedByAllRanks();

    /** Writes after which a link of this rank breaks. */
    static final ConfigKey<Integer> CUT = ConfigKey.integer(
            "ep.posted-threads.cut",
            0,
            0,
            Integer.MAX_VALUE,
            "writes after which the link to the next rank breaks; 0 means never");

    /** Counter before the one write of this rank that fails. */
    static final ConfigKey<Integer> REFUSED = ConfigKey.integer(
            "ep.posted-threads.refused",
            -1,
            -1,
            HostPosted.COUNTERS - 1,
            "counter after whose first advance one write to the next rank finds no room, while the link keeps working; -1"
                    + " for none");

    /** Length of the queue to a peer. */
    static final ConfigKey<Integer> QUEUE = ConfigKey.integer(
            "ep.posted-threads.queue",
            0,
            0,
            Integer.MAX_VALUE,
            "writes to a peer that may be in flight; more wait until some have arrived; 0 means any number");

    /** Counter after which a peer of this rank accepts no more data. */
    static final ConfigKey<Integer> STUCK = ConfigKey.integer(
            "ep.posted-threads.stuck",
            -1,
            -1,
            HostPosted.COUNTERS - 1,
            "counter whose first advance is the last data that the next rank accepts; -1 for none");

    /** Rank at which this rank's counters arrive late. */
    static final ConfigKey<Integer> LATE = ConfigKey.integer(
            "ep.posted-threads.late",
            -1,
            -1,
            Integer.MAX_VALUE,
            "rank at which counters arrive 50 ms after they could; -1 for none");

    /** Longest wait of this rank for room. */
    static final ConfigKey<Duration> PATIENCE = ConfigKey.duration(
            "ep.posted-threads.patience", "60s", "longest time that a write waits for room before the peer is lost");

    /** Memory that this rank's NIC registers. */
    static final ConfigKey<String> REGISTERS = ConfigKey.choice(
            "ep.posted-threads.registers",
            "host",
            List.of("host", "dma-buf", "peer memory", "nothing"),
            "memory that can be registered besides host memory; with nothing, every attempt fails");

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return SpiVersion.CURRENT;
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return List.of(HOST, INSIDE, SEED, CUT, REFUSED, QUEUE, STUCK, LATE, PATIENCE, REGISTERS);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        Check check = List.of("host", "cuda", "hip").contains(request.device().type())
                ? Check.pass("EP-TEST-002", "threads share all memory of the host")
                : Check.fail("EP-TEST-002", request.device() + " is not known", "use ep.device=host, cuda or hip");
        return ProbeReport.builder()
                .check(check)
                .fact("inside", INSIDE.get(request.config()))
                .identity("host", HOST.get(request.config()))
                .build();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        if (!from.identity(ID).equals(to.identity(ID))) {
            return posted(EpPath.Kind.HOST_POSTED);
        }
        return switch (from.facts(ID).getOrDefault("inside", "posted")) {
            case "mapped" ->
                Offer.path(EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(100)
                        .latencyMicros(1)
                        .build();
            case "nothing" -> Offer.none("the ranks are on one simulated host", "");
            case "device-posted" -> posted(EpPath.Kind.DEVICE_POSTED);
            default -> posted(EpPath.Kind.HOST_POSTED);
        };
    }

    /** Returns an offer that is better than those of all other backends. */
    private static Offer posted(EpPath.Kind kind) {
        return Offer.path(kind).gigabytesPerSecond(1e6).latencyMicros(0.001).build();
    }

    @Override
    public EpBackend open(OpenContext context) {
        return new PostedThreadsBackend(
                context, ConcurrentHashMap.newKeySet(), new AtomicBoolean(), ConcurrentHashMap.newKeySet());
    }
}
