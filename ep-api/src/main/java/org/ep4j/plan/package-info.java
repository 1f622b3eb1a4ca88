/** Which path every pair of ranks takes, computed by a pure function from what the ranks reported. */
@NullMarked
package org.ep4j.plan;

import org.jspecify.annotations.NullMarked;
