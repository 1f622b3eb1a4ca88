/**
 * For readers and authors of rules: the scenarios that {@code rules.txt} names, and the exchanges that they are built of. Expected
 * results belong to {@link org.ep4j.tck.oracle}.
 */
@NullMarked
package org.ep4j.tck.rules;

import org.jspecify.annotations.NullMarked;
