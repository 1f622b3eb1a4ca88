/**
 * Probes and checks of a machine and their text, for readers who change {@code ep doctor}; also the check of
 * shared memory that {@code ep demo} and {@code ep bench} make before they start ranks. The checks of doctor themselves are in
 * {@code org.ep4j.doctor}; those of a backend are in its probe.
 */
@NullMarked
package org.ep4j.cli.doctor;

import org.jspecify.annotations.NullMarked;
