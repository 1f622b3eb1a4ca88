package org.ep4j.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.EpPath;
import org.ep4j.plan.NicAssignment.Share;
import org.ep4j.plan.PairKinds.Kind;
import org.ep4j.plan.Rejection.Cause;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;

/** Makes a plan from a table of paths. */
final class GivenPlan {
    private GivenPlan() {}

    static GroupPlan of(List<RankProfile> profiles, List<EpPath> paths) {
        int ranks = profiles.size();
        if (paths.size() != ranks * ranks) {
            throw new IllegalArgumentException(ranks + " ranks need " + ranks * ranks + " paths, got " + paths.size());
        }
        checkOrder(profiles);
        for (int i = 0; i < paths.size(); i++) {
            if (paths.get(i).from() != i / ranks || paths.get(i).to() != i % ranks) {
                throw new IllegalArgumentException("path " + i + " leads from "
                        + paths.get(i).from() + " to " + paths.get(i).to() + ", must lead from " + i / ranks + " to "
                        + i % ranks);
            }
        }
        PairKinds kinds = PairKinds.of(RankClasses.separate(ranks));
        List<Decision> decisions = new ArrayList<>();
        List<Map<String, Share>> shares = new ArrayList<>();
        profiles.forEach(profile -> shares.add(new TreeMap<>()));
        for (Kind kind : kinds.kinds()) {
            EpPath path = paths.get(kind.from() * ranks + kind.to());
            decisions.add(decision(path));
            if (!path.nics().isEmpty()) {
                Share share = new Share(path.nics(), "given");
                Share before = shares.get(path.from()).putIfAbsent(path.backend(), share);
                if (before != null && !before.equals(share)) {
                    throw new IllegalArgumentException("rank " + path.from() + " has NICs " + share.ports() + " and "
                            + before.ports() + " for " + path.backend() + ", must be the same to all ranks");
                }
            }
        }
        return new GroupPlan(profiles, PlanOptions.AUTO, kinds, decisions, shares, true);
    }

    /** Refuses profiles that are not in rank order. */
    static void checkOrder(List<RankProfile> profiles) {
        for (int i = 0; i < profiles.size(); i++) {
            if (profiles.get(i).rank() != i) {
                throw new IllegalArgumentException("profile " + i + " belongs to rank "
                        + profiles.get(i).rank() + "; the profiles must be in rank order");
            }
        }
    }

    private static Decision decision(EpPath path) {
        if (!(path.gigabytesPerSecond() > 0) || !(path.latencyMicros() > 0)) {
            throw new IllegalArgumentException("the path from " + path.from() + " to " + path.to() + " is estimated at "
                    + path.gigabytesPerSecond() + " GB/s and " + path.latencyMicros()
                    + " us, must be above 0; give estimates for every path between different ranks");
        }
        List<Rejection> rejected = path.rejected().stream()
                .map(text -> {
                    int colon = text.indexOf(": ");
                    return colon < 0
                            ? new Rejection(text, Cause.TEXT, "")
                            : new Rejection(text.substring(0, colon), Cause.TEXT, text.substring(colon + 2));
                })
                .toList();
        Offer offer = Offer.path(path.kind())
                .gigabytesPerSecond(path.gigabytesPerSecond())
                .latencyMicros(path.latencyMicros())
                .nics(path.offeredNics())
                .staged(path.staged())
                .build();
        return new Decision(path.backend(), offer, rejected, path.lanes());
    }
}
