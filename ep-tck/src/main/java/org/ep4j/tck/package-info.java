/**
 * For authors of backends: the conformance kit, whose rules run on ranks that are threads and on ranks that are processes, from JUnit
 * ({@link org.ep4j.tck.EpBackendTck}) and from programs ({@link org.ep4j.tck.Conformance}). What ranks do in a rule belongs to {@link
 * org.ep4j.tck.rules}.
 */
@NullMarked
package org.ep4j.tck;

import org.jspecify.annotations.NullMarked;
