/**
 * Measurements on the GPU of one rank of {@code ep bench}, for readers who change what is measured there: operations, ceilings,
 * timing. Measurements on the host are in {@code rank}, figures from samples in {@code report}.
 */
@NullMarked
package org.ep4j.cli.gpu;

import org.jspecify.annotations.NullMarked;
