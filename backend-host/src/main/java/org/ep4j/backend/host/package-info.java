/**
 * The transport {@code host-shm}: plain loads and stores into files in a memory file system, which every rank of a machine
 * maps. It connects processes, and ranks that are threads of one process, in the same way. For who works on this backend; code that
 * other backends could use belongs to ep-transport.
 */
@NullMarked
package org.ep4j.backend.host;

import org.jspecify.annotations.NullMarked;
