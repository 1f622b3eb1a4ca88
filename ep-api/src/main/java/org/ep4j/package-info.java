/**
 * What users of ep4j call: join a group, create a buffer, dispatch tokens to the ranks of their experts and combine the
 * results.
 */
@NullMarked
package org.ep4j;

import org.jspecify.annotations.NullMarked;
