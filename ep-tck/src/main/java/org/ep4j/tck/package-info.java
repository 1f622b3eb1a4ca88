/**
 * The conformance kit for backends: rules with ids, run on ranks that are threads and on ranks that are processes, from
 * JUnit ({@link org.ep4j.tck.EpBackendTck}) and from programs ({@link org.ep4j.tck.Conformance}).
 */
@NullMarked
package org.ep4j.tck;

import org.jspecify.annotations.NullMarked;
