package org.ep4j.transport.memory;

import com.sun.jna.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * The two calls of the C library that give zeroed memory, whose pages are not touched before they are used. Sizes are
 * {@code size_t} of a 64-bit machine.
 */
final class CLibrary {
    CLibrary() {
        NativeMethods.bindToC(CLibrary.class);
    }

    native @Nullable Pointer calloc(long count, long size);

    native void free(Pointer pointer);
}
