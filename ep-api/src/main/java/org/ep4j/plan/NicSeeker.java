package org.ep4j.plan;

import java.util.List;
import org.ep4j.topology.Locality;

/**
 * A rank that needs NIC ports.
 *
 * @param locality the machine around it, with the NICs that it may use
 * @param candidates ports that its backend could use
 * @param fixed true when the user named exactly these
 */
record NicSeeker(Locality locality, List<String> candidates, boolean fixed) {
    NicSeeker {
        candidates = List.copyOf(candidates);
    }
}
