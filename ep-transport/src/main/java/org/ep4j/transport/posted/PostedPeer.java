package org.ep4j.transport.posted;

import org.ep4j.EpFailure;

/**
 * The other end of a connection.
 *
 * @param rank its number in the plan
 * @param index its place among the ranks that opened the backend
 * @param label its name for messages
 * @param failure values that all failures of the connection have: phase, peer, host and path
 */
public record PostedPeer(int rank, int index, String label, EpFailure failure) {
    /** Values of a failure with the status that a NIC of this rank, or its library, gave. */
    public EpFailure failure(String nic, int status, String text) {
        return failure.toBuilder().nic(nic).nativeStatus(status, text).build();
    }
}
