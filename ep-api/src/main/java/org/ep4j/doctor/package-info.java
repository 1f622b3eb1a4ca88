/** Looks for what makes transports fail or crawl on a machine, and says what to do about it. */
@NullMarked
package org.ep4j.doctor;

import org.jspecify.annotations.NullMarked;
