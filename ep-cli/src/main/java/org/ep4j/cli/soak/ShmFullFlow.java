package org.ep4j.cli.soak;

import java.util.List;
import org.ep4j.EpResourceException;
import org.ep4j.cli.soak.Member.State;

/** A buffer is created while the folder of shared memory is full: refused on all ranks, and made when there is room again. */
final class ShmFullFlow implements FaultFlow {
    /** So much more than the buffer before, whose memory is free by then. */
    private static final int LARGER = 4;

    private final ShmFolder folder;

    /** Fills {@code folder}. */
    ShmFullFlow(ShmFolder folder) {
        this.folder = folder;
    }

    @Override
    public void run(RankGroup group) {
        ShapeSpec shape = group.round().shape();
        ShapeSpec larger = new ShapeSpec(
                shape.hidden(),
                shape.experts(),
                shape.topK(),
                shape.maxTokens() * LARGER,
                shape.maxLowLatencyTokens() * LARGER,
                shape.strided());
        try (ShmFolder.Filler filler = folder.fill()) {
            if (!recreate(group, larger)) {
                return;
            }
            for (Member member : group.members()) {
                if (!member.is(State.REFUSED)
                        || !member.lastFailure().startsWith(EpResourceException.class.getSimpleName() + ":")) {
                    group.problem(
                            Problem.Kind.UNEXPECTED,
                            member + ", in a full folder (" + filler.bytes()
                                    + " bytes taken) a buffer must be refused by "
                                    + EpResourceException.class.getSimpleName() + ": " + member.lastFailure());
                }
            }
        }
        if (!group.isTroubled() && recreate(group, shape)) {
            List<Member> all = group.members();
            if (all.stream().allMatch(Member::isReady)) {
                group.runWell(all, PROOF, 0);
            } else {
                RankGroup.otherThan(all, State.IDLE)
                        .ifPresent(m -> group.problem(
                                Problem.Kind.UNEXPECTED,
                                m + " has no buffer though there is room again: " + m.lastFailure()));
            }
        }
    }

    private static boolean recreate(RankGroup group, ShapeSpec shape) {
        for (Member member : group.members()) {
            member.enter(State.JOINING);
            member.handle().send(new Order.Recreate(shape, 0));
        }
        if (!group.await(() -> group.members().stream().noneMatch(Member::isBusy), group.limit())) {
            group.hang("creating a buffer in a folder that is full, or was");
            return false;
        }
        return true;
    }
}
