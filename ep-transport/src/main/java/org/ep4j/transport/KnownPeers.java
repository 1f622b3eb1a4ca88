package org.ep4j.transport;

import java.util.function.UnaryOperator;
import org.ep4j.EpFailure;
import org.ep4j.plan.GroupPlan;

/**
 * Adds what the plan knows of the peer to failures of a rank: its host, and the path to it.
 *
 * @param rank whose failures they are; their peers are ranks of the plan
 */
public record KnownPeers(GroupPlan plan, int rank) implements UnaryOperator<EpFailure> {
    @Override
    public EpFailure apply(EpFailure failure) {
        int peer = failure.peer();
        return peer < 0
                ? failure
                : failure.toBuilder()
                        .host(plan.profiles().get(peer).hostName())
                        .path(plan.path(rank, peer))
                        .build();
    }
}
