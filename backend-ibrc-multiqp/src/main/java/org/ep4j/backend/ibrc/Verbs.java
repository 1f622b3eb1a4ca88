package org.ep4j.backend.ibrc;

import org.bytedeco.javacpp.annotation.Cast;
import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.Platform;

/**
 * libibverbs, through one JNI library that {@link VerbsLibrary} loads. Objects are addresses, structures are records in
 * memory outside of the heap, given by address. Results below zero are negated error numbers. The C++ side is {@code
 * ep4j_verbs.h}; which has the names and the order of its records.
 */
@Platform(include = "ep4j_verbs.h", link = "ibverbs", library = "jniEp4jVerbs")
final class Verbs {
    /** Port state: carries traffic. */
    static final int PORT_ACTIVE = 4;

    /** Link layer: InfiniBand; 2 is Ethernet. */
    static final int LINK_INFINIBAND = 1;

    /** Link layer: Ethernet. */
    static final int LINK_ETHERNET = 2;

    /** {@code IBV_QPF_GRH_REQUIRED}. */
    static final int GRH_REQUIRED = 1;

    /** Events up to it report a queue or queue pair that failed. {@code IBV_EVENT_QP_ACCESS_ERR}. */
    static final int EVENT_LAST_OF_QUEUES = 3;

    /** {@code IBV_EVENT_PORT_ERR}. */
    static final int EVENT_PORT_ERROR = 10;

    /** {@code IBV_EVENT_DEVICE_FATAL}. */
    static final int EVENT_DEVICE_FATAL = 8;

    /** {@code IBV_TRANSPORT_IWARP}. */
    static final int TRANSPORT_IWARP = 1;

    private Verbs() {}

    @Name("ep4j_device_names")
    static native long deviceNames(@Cast("void*") long out, long capacity);

    @Name("ep4j_open")
    static native long open(@Cast("void*") long name);

    @Name("ep4j_close")
    static native int close(@Cast("void*") long context);

    @Name("ep4j_query_device")
    static native int queryDevice(@Cast("void*") long context, @Cast("void*") long out);

    @Name("ep4j_query_port")
    static native int queryPort(@Cast("void*") long context, int port, @Cast("void*") long out);

    @Name("ep4j_query_gid")
    static native int queryGid(@Cast("void*") long context, int port, int index, @Cast("void*") long out);

    @Name("ep4j_alloc_pd")
    static native long allocPd(@Cast("void*") long context);

    @Name("ep4j_dealloc_pd")
    static native int deallocPd(@Cast("void*") long pd);

    @Name("ep4j_reg_mr")
    static native long regMr(
            @Cast("void*") long pd, @Cast("void*") long address, long bytes, int access, @Cast("void*") long keys);

    @Name("ep4j_reg_dmabuf_mr")
    static native long regDmabufMr(
            @Cast("void*") long pd, long offset, long bytes, long iova, int fd, int access, @Cast("void*") long keys);

    @Name("ep4j_dereg_mr")
    static native int deregMr(@Cast("void*") long region);

    @Name("ep4j_create_cq")
    static native long createCq(@Cast("void*") long context, int depth);

    @Name("ep4j_destroy_cq")
    static native int destroyCq(@Cast("void*") long cq);

    @Name("ep4j_create_qp")
    static native long createQp(@Cast("void*") long pd, @Cast("void*") long cq, @Cast("void*") long caps);

    @Name("ep4j_destroy_qp")
    static native int destroyQp(@Cast("void*") long qp);

    @Name("ep4j_to_init")
    static native int toInit(@Cast("void*") long qp, int port, int pkey);

    @Name("ep4j_to_ready")
    static native int toReady(@Cast("void*") long qp, @Cast("void*") long connection);

    @Name("ep4j_to_error")
    static native int toError(@Cast("void*") long qp);

    @Name("ep4j_post")
    static native int post(@Cast("void*") long commands, int count, @Cast("void*") long error);

    @Name("ep4j_post_receives")
    static native int postReceives(@Cast("void*") long qp, long id, int count);

    @Name("ep4j_poll")
    static native int poll(@Cast("void*") long cqs, int queues, @Cast("void*") long out, int capacity, int polls);

    @Name("ep4j_next_event")
    static native int nextEvent(@Cast("void*") long context, int milliseconds, @Cast("void*") long out);

    @Name("ep4j_status_text")
    static native int statusText(int status, @Cast("void*") long out, int capacity);

    @Name("ep4j_event_text")
    static native int eventText(int event, @Cast("void*") long out, int capacity);

    @Name("ep4j_error_text")
    static native int errorText(int error, @Cast("void*") long out, int capacity);
}
