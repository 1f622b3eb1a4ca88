package org.ep4j.cli.plan;

import org.ep4j.plan.RankProfile;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;

/**
 * What a backend that is not installed would say of a machine that is known by description: the rules by which it is planned
 * with. An installed backend answers for itself.
 */
interface BackendRule {
    /** Id of the backend. */
    String id();

    /** As {@link org.ep4j.spi.EpBackendProvider#describe}. */
    ProbeReport describe(DescribeRequest request);

    /** As {@link org.ep4j.spi.EpBackendProvider#offer}. */
    Offer offer(RankProfile from, RankProfile to);
}
