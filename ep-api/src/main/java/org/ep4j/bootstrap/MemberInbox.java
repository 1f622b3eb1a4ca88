package org.ep4j.bootstrap;

import org.ep4j.spi.MemberState;

/** Receives what the hub sends to a member. Implementations return at once and do not call the hub. */
interface MemberInbox {
    /** Takes the result of a gather. Receivers do not change its arrays. */
    void result(GatherResult result);

    /** Takes note that a gather which the member took part in has ended without a result. */
    void failed(String scope, String tag, Failure failure);

    /** Takes note that a member has left or is lost; in {@link Hub#ROOT} this holds for every scope. */
    void news(String scope, int rank, MemberState state, String reason);
}
