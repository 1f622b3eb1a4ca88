/**
 * For programs that run a model: join a group, create a buffer, dispatch tokens to the ranks of their experts,
 * combine the results. Holds these calls, their requests, results and failures, and the plan to read. Start at {@link
 * EpGroup}. {@link EpEngine} is internal.
 */
@API(status = API.Status.STABLE, since = "0.1")
@NullMarked
package org.ep4j;

import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
