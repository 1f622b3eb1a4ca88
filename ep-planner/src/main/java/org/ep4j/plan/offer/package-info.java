/**
 * For authors of backends: bandwidth, latency and limits of GPU links and NICs, with which a backend answers
 * {@link org.ep4j.spi.EpBackendProvider#offer}. Belongs here: what several backends, or a backend and the forecast,
 * share.
 */
@NullMarked
package org.ep4j.plan.offer;

import org.jspecify.annotations.NullMarked;
