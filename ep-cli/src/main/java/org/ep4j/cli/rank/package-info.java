/** What one rank process of {@code ep demo} and {@code ep bench} does, and the messages in which it reports. */
@NullMarked
package org.ep4j.cli.rank;

import org.jspecify.annotations.NullMarked;
