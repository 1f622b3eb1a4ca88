/** What backends, devices, engines and bootstraps implement; stable, and proved with {@code ep-tck}. */
@NullMarked
package org.ep4j.spi;

import org.jspecify.annotations.NullMarked;
