package org.ep4j.engine.driver;

import java.util.List;
import java.util.Optional;
import java.util.function.BiPredicate;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.collective.MappedBackend;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;

/** Opens the backends that map the memory of GPUs into each other. */
public final class MappedGpus {
    private MappedGpus() {}

    /**
     * Opens, collective over the ranks of the backend. Pairs of GPUs that PCIe joins are tested, and opening fails where PCIe
     * does not keep data before its flag.
     *
     * @param facts what the ranks told of their GPUs
     * @param type of devices that the backend serves: {@code cuda} or {@code hip}
     * @param byPci true for two ranks whose bytes take PCIe
     */
    public static EpBackend open(
            OpenContext context, PeerFacts facts, String type, BiPredicate<RankProfile, RankProfile> byPci) {
        Collective collective = new Collective(facts.backend(), context);
        Deadline deadline = Deadline.in(context.deadline());
        GpuSharing sharing = collective.apart("open", deadline, () -> GpuSharing.of(context.device(), type));
        MemoryHandle.Kind kind = facts.kind(context, collective);
        new PeerOrderingCheck(
                        context,
                        collective,
                        new GpuExposure(context, collective, sharing, kind, "of-ordering"),
                        byPci,
                        PeerOrderingCheck.ROUNDS,
                        PeerOrderingCheck.WAIT)
                .run(deadline);
        return new MappedBackend(
                context,
                collective,
                "on " + context.device().id(),
                overPci(context, byPci),
                (ranks, name) -> new GpuExposure(context, ranks, sharing, kind, name));
    }

    private static Optional<String> overPci(OpenContext context, BiPredicate<RankProfile, RankProfile> byPci) {
        List<RankProfile> profiles = context.plan().profiles();
        RankProfile mine = profiles.get(context.rank());
        return context.ranks().stream()
                .map(profiles::get)
                .filter(peer -> context.plan().pathKind(mine.rank(), peer.rank()) == PathKind.MAPPED)
                .filter(peer -> byPci.test(mine, peer))
                .findFirst()
                .map(peer -> peer.label() + " is reached over PCIe");
    }
}
