/** Checks a machine for conditions that make transports slow or make them fail, and says what to do about them. */
@NullMarked
package org.ep4j.doctor;

import org.jspecify.annotations.NullMarked;
