package org.ep4j.engine.memory;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;

/** The two calls of the C library that give zeroed memory, whose pages are not touched before they are used. */
interface CLibrary extends Library {
    static CLibrary load() {
        return Native.load("c", CLibrary.class);
    }

    Pointer calloc(long count, long size);

    void free(Pointer pointer);
}
