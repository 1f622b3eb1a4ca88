/** The measurement of {@code ci/fifo}: commands from a GPU through proxy threads, in Java and in C++. */
@NullMarked
package org.ep4j.cli.fifo;

import org.jspecify.annotations.NullMarked;
