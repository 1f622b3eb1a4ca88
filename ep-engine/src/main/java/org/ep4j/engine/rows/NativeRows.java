package org.ep4j.engine.rows;

import org.bytedeco.javacpp.annotation.Cast;
import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.Platform;

/**
 * Loops over rows in C++, through one JNI library that {@link Rows} loads. Memory is given by address, lists are 64-bit words
 * in memory outside of the heap. The C++ side is {@code ep4j_rows.h}, which documents the words of a list.
 */
@Platform(include = "ep4j_rows.h", library = "jniEp4jRows")
final class NativeRows {
    private NativeRows() {}

    @Name("ep4j_rows_runs")
    static native int runs(int variant);

    @Name("ep4j_rows_fused")
    static native int fused(int variant);

    @Name("ep4j_rows_copy")
    static native void copy(int variant, @Cast("void*") long list, int count, int stream);

    @Name("ep4j_rows_sum")
    static native void sum(int variant, @Cast("void*") long list, int count, long bytes, int stream);

    @Name("ep4j_rows_cast")
    static native void cast(
            int variant,
            @Cast("void*") long row,
            @Cast("void*") long codes,
            @Cast("void*") long scales,
            int channels,
            int power);
}
