package org.ep4j.backend.nvshmem;

import org.ep4j.transport.memory.NativeRecord;

/**
 * Structures of NVSHMEM as bytes. Each begins with a word that has the version of its layout in the upper and its size in the
 * lower half ({@code nvshmemx_uniqueid.h}, {@code nvshmem_types.h}; the sizes are asserted there).
 */
final class Structures {
    /** {@code sizeof(nvshmemx_uniqueid_t)}. */
    static final int ID_BYTES = 128;

    /** {@code sizeof(nvshmemx_init_attr_t)}. */
    static final int ATTRIBUTES_BYTES = 144;

    /** {@code sizeof(nvshmemx_uniqueid_args_t)}. */
    private static final int ID_ARGUMENTS_BYTES = 24;

    /** {@code sizeof(nvshmemx_init_args_t)}. */
    private static final int ARGUMENTS_BYTES = 128;

    private static final int ARGUMENTS = 16;
    private static final int ID_ARGUMENTS = 24;
    private static final int DEVICE = 48;

    private Structures() {}

    /** An empty unique id. */
    static NativeRecord id() {
        NativeRecord id = new NativeRecord(ID_BYTES);
        id.buffer().putInt(0, word(1, ID_BYTES));
        return id;
    }

    /** A unique id of another process. */
    static NativeRecord id(byte[] bytes) {
        NativeRecord id = new NativeRecord(ID_BYTES);
        id.buffer().put(0, bytes);
        return id;
    }

    /** Attributes of the initialisation, with nothing in them but versions. */
    static NativeRecord attributes(NvshmemVersion version) {
        int layout = version.initTakesDevice() ? 2 : 1;
        NativeRecord attributes = new NativeRecord(ATTRIBUTES_BYTES);
        attributes
                .buffer()
                .putInt(0, word(layout, ATTRIBUTES_BYTES))
                .putInt(ARGUMENTS, word(layout, ARGUMENTS_BYTES))
                .putInt(ID_ARGUMENTS, word(1, ID_ARGUMENTS_BYTES));
        if (version.initTakesDevice()) {
            // The one of the current context.
            attributes.buffer().putInt(DEVICE, -1);
        }
        return attributes;
    }

    private static int word(int version, int bytes) {
        return (version << 16) + bytes;
    }
}
