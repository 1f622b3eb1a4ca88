package org.ep4j.backend.ibrc;

import org.ep4j.EpFailure;

/**
 * The other end of a link.
 *
 * @param rank its number in the plan
 * @param index its place among the ranks of the backend
 * @param label its name for messages
 * @param failure values that all failures of the link have: phase, peer, host and path
 * @param start lane that is tried first as the home lane
 */
record LinkPeer(int rank, int index, String label, EpFailure failure, int start) {
    /**
     * The loss of this peer.
     *
     * @param text why, for messages
     * @param failure the same as values
     */
    record Loss(String text, EpFailure failure) {}

    /** A loss of this peer with the values of its reason. */
    Loss loss(String why, EpFailure ofReason) {
        return new Loss(label + " cannot be reached: " + why, ofReason);
    }

    /** Values of a failure with the status that a NIC of this rank, or its library, gave. */
    EpFailure failure(String nic, int status, String text) {
        return failure.toBuilder().nic(nic).nativeStatus(status, text).build();
    }
}
