/** Probes and checks of this machine for {@code ep doctor}. */
@NullMarked
package org.ep4j.cli.doctor;

import org.jspecify.annotations.NullMarked;
