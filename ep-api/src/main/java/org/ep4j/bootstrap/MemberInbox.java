package org.ep4j.bootstrap;

import org.ep4j.spi.MemberState;

/** What the hub tells a member. Implementations return at once and do not call the hub. */
interface MemberInbox {
    /** A gather is complete. */
    void result(Gathered gathered);

    /** A gather that the member took part in has ended without a result. */
    void failed(String scope, String tag, Failure failure);

    /** A member has left or is lost; in {@link Hub#ROOT} this holds for every scope. */
    void news(String scope, int rank, MemberState state, String reason);
}
