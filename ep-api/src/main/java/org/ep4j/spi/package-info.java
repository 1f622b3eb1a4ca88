/**
 * For authors of backends and launchers: what a transport ({@link EpBackendProvider}) or a launcher
 * ({@link BootstrapProvider}) implements, and the values exchanged with ep4j. Programs that run a model need none of
 * it. Prove an implementation with {@code ep-tck}. {@link DeviceProvider} is ep4j's own.
 */
@API(status = API.Status.STABLE, since = "0.1")
@NullMarked
package org.ep4j.spi;

import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
