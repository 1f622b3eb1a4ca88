/** How long an exchange will take on a plan, and what memory, lanes and threads it needs. */
@NullMarked
package org.ep4j.plan.forecast;

import org.jspecify.annotations.NullMarked;
