/**
 * For operators who test a machine, and for the command line: long runs of exchanges with injected faults. Rules of the conformance kit
 * do not belong here.
 */
@NullMarked
package org.ep4j.tck.soak;

import org.jspecify.annotations.NullMarked;
