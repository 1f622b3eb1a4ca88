/**
 * Frame of backends whose host threads post work requests to NICs ({@link org.ep4j.spi.HostPosted}). {@link PostedBackend} opens NICs and
 * connects to peers in collective steps, registers buffers, makes progress in threads of its own and closes with its peers. A backend
 * adds what differs between kinds of NICs: a {@link PostedEndpoint}, its {@link PostedConnection connections}, which
 * post, poll and count, and its {@link PostedMemory}.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
@NullMarked
package org.ep4j.transport.posted;

import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
