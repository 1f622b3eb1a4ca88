package org.ep4j.gpu.driver;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.MappedBackend;

/**
 * A backend that maps memory of GPUs into each other; subclasses probe, and know the links. An obstacle on
 * either side refuses both directions: HIP may allow peer access in one direction only.
 */
public abstract class MappedGpuProvider implements EpBackendProvider {
    private final PeerFacts facts;
    private final GpuVendor vendor;
    private final String deviceCode;
    private final String otherDevices;
    private final String unknownLink;

    /**
     * Creates the provider of a backend.
     *
     * @param deviceCode code of the check that the device is a GPU of the vendor
     * @param otherDevices remedy for other devices
     * @param unknownLink remedy if the link between two GPUs is unknown
     */
    protected MappedGpuProvider(
            PeerFacts facts, GpuVendor vendor, String deviceCode, String otherDevices, String unknownLink) {
        this.facts = facts;
        this.vendor = vendor;
        this.deviceCode = deviceCode;
        this.otherDevices = otherDevices;
        this.unknownLink = unknownLink;
    }

    /** Facts that only this backend has on a described machine. */
    protected Map<String, String> describedFacts() {
        return Map.of();
    }

    /** Finds the path between two GPUs, if there is one; it may not be usable. */
    protected abstract Optional<GpuPath> path(RankProfile from, RankProfile to);

    /** Finds an obstacle to a path between hosts, as {@link Offer#none}; empty if there is none. */
    protected abstract Optional<Offer> acrossHosts(RankProfile from, RankProfile to);

    /** Refuses a path, by {@link Offer#none}, because the rank with the GPU {@code mine} does not see {@code theirs}. */
    protected abstract Offer hidden(String mine, String theirs);

    /** Refuses a path, by {@link Offer#none}, because the driver denies peer access between two GPUs. */
    protected abstract Offer denied(String mine, String theirs);

    /** Offers a path without obstacles. */
    protected Offer offer(GpuPath path) {
        return path.offer();
    }

    @Override
    public final String id() {
        return facts.backend();
    }

    @Override
    public final SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    final GpuVendor vendor() {
        return vendor;
    }

    final Check device(Device device) {
        return serves(device)
                ? Check.pass(deviceCode, "device " + device.type())
                : Check.notApplicable(deviceCode, notServed(device), otherDevices);
    }

    private boolean serves(Device device) {
        return device.type().equals(vendor.deviceType());
    }

    private String notServed(Device device) {
        return "device " + device.type() + " is not an " + vendor + " GPU";
    }

    /** Assumes one container and one user for all ranks of a host, with all its GPUs. */
    @Override
    public final ProbeReport describe(RankProfile rank, EpConfig config) {
        Locality around = rank.locality();
        ProbeReport.Builder report = ProbeReport.builder().check(device(rank.device()));
        describedFacts().forEach(report::fact);
        return report.fact(PeerFacts.GPU, PeerFacts.describedGpu(around.gpu()))
                .fact(PeerFacts.GPUS, PeerFacts.describedGpus(around))
                .fact(PeerFacts.INTERPROCESS, PeerFacts.YES)
                .fact(PeerFacts.ARCHITECTURE, around.architecture())
                .identity(PeerFacts.PIDS, rank.hostId())
                .identity(PeerFacts.USER, "0")
                .build();
    }

    @Override
    public final Offer offer(RankProfile from, RankProfile to) {
        for (RankProfile rank : List.of(from, to)) {
            if (!serves(rank.device())) {
                return Offer.none(
                        notServed(rank.device()),
                        "set ep.device to " + vendor.deviceType() + " on all ranks, or use a backend for that device");
            }
            if (facts.fact(rank, PeerFacts.GPU).isEmpty()) {
                return Offer.none(
                        "a rank did not report its GPU",
                        "run the same ep4j version on all ranks, and see the probe checks of that rank");
            }
        }
        Optional<Offer> obstacle = from.hostId().equals(to.hostId())
                ? visibility(from, to).or(() -> visibility(to, from)).or(() -> facts.processes(from, to))
                : acrossHosts(from, to);
        if (obstacle.isPresent()) {
            return obstacle.get();
        }
        Optional<GpuPath> path = path(from, to);
        return path.isPresent() ? offer(path.get()) : Offer.none("the link between the GPUs is unknown", unknownLink);
    }

    private Optional<Offer> visibility(RankProfile from, RankProfile to) {
        String mine = facts.fact(from, PeerFacts.GPU);
        String theirs = facts.fact(to, PeerFacts.GPU);
        if (theirs.equals(mine)) {
            return Optional.empty();
        }
        if (facts.index(from, theirs).isEmpty()) {
            return Optional.of(hidden(mine, theirs));
        }
        return facts.lists(from, PeerFacts.DENIED, theirs) ? Optional.of(denied(mine, theirs)) : Optional.empty();
    }

    /** Returns whether the path of two ranks is PCIe. */
    public final boolean byPci(RankProfile from, RankProfile to) {
        return path(from, to).filter(path -> !path.gpuLinks()).isPresent();
    }

    /**
     * {@inheritDoc}
     *
     * <p>Pairs of GPUs whose path is PCIe are tested here, and opening fails if PCIe does not keep data before its flag.
     */
    @Override
    public final EpBackend open(OpenContext context) {
        Collective collective = new Collective(id(), context);
        Deadline deadline = Deadline.in(context.timeout());
        GpuSharing sharing =
                collective.apart("open", deadline, () -> GpuSharing.of(context.device(), vendor.deviceType()));
        MemoryHandle.Kind kind = facts.kind(context, collective);
        new PeerOrderingCheck(
                        context,
                        collective,
                        new GpuExposure(context, collective, sharing, kind, "of-ordering"),
                        this::byPci,
                        PeerOrderingCheck.ROUNDS,
                        PeerOrderingCheck.WAIT)
                .run(deadline);
        return new MappedBackend(
                context,
                collective,
                "on " + context.device().id(),
                overPci(context),
                (ranks, name) -> new GpuExposure(context, ranks, sharing, kind, name));
    }

    private Optional<String> overPci(OpenContext context) {
        List<RankProfile> profiles = context.profiles();
        RankProfile mine = profiles.get(context.rank());
        return context.ranks().stream()
                .map(profiles::get)
                // PCIe ends at the host.
                .filter(peer ->
                        context.plan().host(peer.rank()) == context.plan().host(mine.rank()))
                .filter(peer -> context.plan().path(mine.rank(), peer.rank()).kind() == EpPath.Kind.MAPPED)
                .filter(peer -> byPci(mine, peer))
                .findFirst()
                .map(peer -> peer.label() + " is reached over PCIe");
    }
}
