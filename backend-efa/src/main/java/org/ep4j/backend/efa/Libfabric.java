package org.ep4j.backend.efa;

import org.bytedeco.javacpp.annotation.Cast;
import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.Platform;

/**
 * libfabric, through one JNI library that {@link FabricLibrary} loads. Objects are addresses, structures are records in
 * memory outside of the heap, given by address. Results below zero are negated error numbers. The C++ side is {@code
 * ep4j_libfabric.h}, which describes the records.
 */
@Platform(include = "ep4j_libfabric.h", library = "jniEp4jLibfabric")
final class Libfabric {
    private Libfabric() {}

    @Name("ep4j_fi_load")
    static native int load(@Cast("void*") long out, int capacity);

    @Name("ep4j_fi_version")
    static native int version();

    @Name("ep4j_fi_list")
    static native long list(@Cast("void*") long provider, int deviceMemory);

    @Name("ep4j_fi_free")
    static native void free(@Cast("void*") long list);

    @Name("ep4j_fi_describe")
    static native int describe(@Cast("void*") long list, int index, @Cast("void*") long out, int capacity);

    @Name("ep4j_fi_open")
    static native long open(@Cast("void*") long list, int index, int trafficClass);

    @Name("ep4j_fi_close")
    static native void close(@Cast("void*") long domain);

    @Name("ep4j_fi_register")
    static native long register(
            @Cast("void*") long domain,
            @Cast("void*") long address,
            long bytes,
            long key,
            @Cast("void*") long endpoint,
            int hmem,
            int number,
            int fd,
            long offset,
            @Cast("void*") long out);

    @Name("ep4j_fi_device_memory")
    static native int deviceMemory(@Cast("void*") long domain);

    @Name("ep4j_fi_deregister")
    static native int deregister(@Cast("void*") long region);

    @Name("ep4j_fi_endpoint")
    static native long endpoint(@Cast("void*") long domain, int slots, int completions);

    @Name("ep4j_fi_close_endpoint")
    static native void closeEndpoint(@Cast("void*") long endpoint);

    @Name("ep4j_fi_name")
    static native int name(@Cast("void*") long endpoint, @Cast("void*") long out, int capacity);

    @Name("ep4j_fi_peer")
    static native int peer(@Cast("void*") long endpoint, @Cast("void*") long name);

    @Name("ep4j_fi_write")
    static native int write(
            @Cast("void*") long endpoint,
            long remote,
            long key,
            @Cast("void*") long local,
            @Cast("void*") long descriptor,
            long length,
            int slot,
            int immediate,
            int delivered);

    @Name("ep4j_fi_poll")
    static native int poll(@Cast("void*") long endpoint, @Cast("void*") long out, int capacity);

    @Name("ep4j_fi_failure")
    static native int failure(@Cast("void*") long endpoint, @Cast("void*") long out, int capacity);

    @Name("ep4j_fi_error")
    static native int error(int error, @Cast("void*") long out, int capacity);
}
