/** The scenarios behind the rules. */
@NullMarked
package org.ep4j.tck.rules;

import org.jspecify.annotations.NullMarked;
