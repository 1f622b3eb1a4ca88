package org.ep4j.bootstrap;

import java.util.List;
import org.ep4j.spi.MemberState;

/** What the hub tells a member. Implementations return at once and do not call the hub. */
interface MemberInbox {
    /** A gather is complete: one array a member of the scope, in its order. Receivers do not change the arrays. */
    void result(String scope, String tag, List<byte[]> parts);

    /** A gather that the member took part in has ended without a result. */
    void failed(String scope, String tag, Failure failure);

    /** A member has left or is lost; in {@link Hub#ROOT} this holds for every scope. */
    void news(String scope, int rank, MemberState state, String reason);
}
