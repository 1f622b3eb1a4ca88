/**
 * Memory of the host by address and native libraries, for authors of backends and of the engine: allocation, page locking, clean-up, bindings by
 * JNA, and JNI libraries that are unpacked from a jar. Nothing here knows groups, buffers or NICs.
 */
@NullMarked
package org.ep4j.transport.memory;

import org.jspecify.annotations.NullMarked;
