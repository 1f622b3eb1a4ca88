// What org.ep4j.backend.ibrc.Verbs calls. Most of libibverbs' data path is inline C, so this file is where it is compiled.
// Objects travel as addresses, structures as flat records in native byte order whose layouts are in class Verbs.
// Functions return 0 or more on success and a negated errno on failure.
#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

namespace ep4j {

static inline int64_t failed() { return errno > 0 ? -errno : -EIO; }

template <typename T> static inline T *at(void *base, size_t offset) {
    return reinterpret_cast<T *>(static_cast<char *>(base) + offset);
}

} // namespace ep4j

static inline int64_t ep4j_device_names(void *out, int64_t capacity) {
    int count = 0;
    ibv_device **devices = ibv_get_device_list(&count);
    if (!devices) {
        return ep4j::failed();
    }
    int64_t used = 0;
    for (int i = 0; i < count; i++) {
        const char *name = ibv_get_device_name(devices[i]);
        int64_t length = static_cast<int64_t>(strlen(name));
        if (used + length + 1 > capacity) {
            break;
        }
        memcpy(ep4j::at<char>(out, used), name, length);
        used += length;
        *ep4j::at<char>(out, used++) = '\n';
    }
    ibv_free_device_list(devices);
    return used;
}

static inline int64_t ep4j_open(void *name) {
    int count = 0;
    ibv_device **devices = ibv_get_device_list(&count);
    if (!devices) {
        return ep4j::failed();
    }
    int64_t result = -ENODEV;
    for (int i = 0; i < count; i++) {
        if (strcmp(ibv_get_device_name(devices[i]), static_cast<const char *>(name)) == 0) {
            errno = 0;
            ibv_context *context = ibv_open_device(devices[i]);
            result = context ? reinterpret_cast<int64_t>(context) : ep4j::failed();
            break;
        }
    }
    ibv_free_device_list(devices);
    if (result > 0) {
        int fd = reinterpret_cast<ibv_context *>(result)->async_fd;
        int flags = fcntl(fd, F_GETFL);
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
    return result;
}

static inline int ep4j_close(void *context) { return -ibv_close_device(static_cast<ibv_context *>(context)); }

// out: 7 ints
static inline int ep4j_query_device(void *context, void *out) {
    ibv_device_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    int error = ibv_query_device(static_cast<ibv_context *>(context), &attributes);
    if (error) {
        return -error;
    }
    int32_t *values = static_cast<int32_t *>(out);
    values[0] = attributes.atomic_cap;
    values[1] = attributes.max_qp;
    values[2] = attributes.max_qp_wr;
    values[3] = attributes.max_cqe;
    values[4] = attributes.max_qp_rd_atom;
    values[5] = attributes.max_qp_init_rd_atom;
    values[6] = static_cast<ibv_context *>(context)->device->transport_type;
    return 0;
}

// out: 7 ints
static inline int ep4j_query_port(void *context, int port, void *out) {
    ibv_port_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    int error = ibv_query_port(static_cast<ibv_context *>(context), static_cast<uint8_t>(port), &attributes);
    if (error) {
        return -error;
    }
    int32_t *values = static_cast<int32_t *>(out);
    values[0] = attributes.state;
    values[1] = attributes.active_mtu;
    values[2] = attributes.lid;
    values[3] = attributes.link_layer;
    values[4] = attributes.gid_tbl_len;
    values[5] = static_cast<int32_t>(attributes.max_msg_sz > INT32_MAX ? INT32_MAX : attributes.max_msg_sz);
    values[6] = attributes.flags;
    return 0;
}

static inline int ep4j_query_gid(void *context, int port, int index, void *out) {
    return ibv_query_gid(static_cast<ibv_context *>(context), static_cast<uint8_t>(port), index,
                         static_cast<ibv_gid *>(out))
               ? -(errno > 0 ? errno : EIO)
               : 0;
}

static inline int64_t ep4j_alloc_pd(void *context) {
    errno = 0;
    ibv_pd *pd = ibv_alloc_pd(static_cast<ibv_context *>(context));
    return pd ? reinterpret_cast<int64_t>(pd) : ep4j::failed();
}

static inline int ep4j_dealloc_pd(void *pd) { return -ibv_dealloc_pd(static_cast<ibv_pd *>(pd)); }

static inline int64_t ep4j_registered(ibv_mr *region, void *keys) {
    if (!region) {
        return ep4j::failed();
    }
    uint32_t *values = static_cast<uint32_t *>(keys);
    values[0] = region->lkey;
    values[1] = region->rkey;
    return reinterpret_cast<int64_t>(region);
}

// keys: lkey, rkey
static inline int64_t ep4j_reg_mr(void *pd, void *address, int64_t bytes, int access, void *keys) {
    errno = 0;
    if (access & IBV_ACCESS_OPTIONAL_RANGE) {
        // The optional flags, of which relaxed ordering is one, need the newer entry point (IBVERBS_1.8).
        typedef ibv_mr *(*reg)(ibv_pd *, void *, size_t, uint64_t, unsigned int);
        reg function = reinterpret_cast<reg>(dlsym(RTLD_DEFAULT, "ibv_reg_mr_iova2"));
        if (function) {
            return ep4j_registered(function(static_cast<ibv_pd *>(pd), address, static_cast<size_t>(bytes),
                                            reinterpret_cast<uint64_t>(address), static_cast<unsigned>(access)),
                                   keys);
        }
        access &= ~IBV_ACCESS_OPTIONAL_RANGE;
    }
    return ep4j_registered((ibv_reg_mr)(static_cast<ibv_pd *>(pd), address, static_cast<size_t>(bytes), access), keys);
}

// Memory of a GPU, given as a dma-buf. IBVERBS_1.12.
static inline int64_t ep4j_reg_dmabuf_mr(void *pd, int64_t offset, int64_t bytes, int64_t iova, int fd, int access,
                                         void *keys) {
    typedef ibv_mr *(*reg)(ibv_pd *, uint64_t, size_t, uint64_t, int, int);
    reg function = reinterpret_cast<reg>(dlsym(RTLD_DEFAULT, "ibv_reg_dmabuf_mr"));
    if (!function) {
        return -ENOSYS;
    }
    errno = 0;
    return ep4j_registered(function(static_cast<ibv_pd *>(pd), static_cast<uint64_t>(offset),
                                    static_cast<size_t>(bytes), static_cast<uint64_t>(iova), fd, access),
                           keys);
}

static inline int ep4j_dereg_mr(void *region) { return -ibv_dereg_mr(static_cast<ibv_mr *>(region)); }

static inline int64_t ep4j_create_cq(void *context, int depth) {
    errno = 0;
    ibv_cq *cq = ibv_create_cq(static_cast<ibv_context *>(context), depth, nullptr, nullptr, 0);
    return cq ? reinterpret_cast<int64_t>(cq) : ep4j::failed();
}

static inline int ep4j_destroy_cq(void *cq) { return -ibv_destroy_cq(static_cast<ibv_cq *>(cq)); }

// caps: in and out: send depth, receive depth, inline bytes; out: queue pair number
static inline int64_t ep4j_create_qp(void *pd, void *cq, void *caps) {
    int32_t *values = static_cast<int32_t *>(caps);
    ibv_qp_init_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.send_cq = static_cast<ibv_cq *>(cq);
    attributes.recv_cq = static_cast<ibv_cq *>(cq);
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap.max_send_wr = static_cast<uint32_t>(values[0]);
    attributes.cap.max_recv_wr = static_cast<uint32_t>(values[1]);
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_recv_sge = 1;
    attributes.cap.max_inline_data = static_cast<uint32_t>(values[2]);
    errno = 0;
    ibv_qp *qp = ibv_create_qp(static_cast<ibv_pd *>(pd), &attributes);
    if (!qp) {
        return ep4j::failed();
    }
    values[0] = static_cast<int32_t>(attributes.cap.max_send_wr);
    values[1] = static_cast<int32_t>(attributes.cap.max_recv_wr);
    values[2] = static_cast<int32_t>(attributes.cap.max_inline_data);
    values[3] = static_cast<int32_t>(qp->qp_num);
    return reinterpret_cast<int64_t>(qp);
}

static inline int ep4j_destroy_qp(void *qp) { return -ibv_destroy_qp(static_cast<ibv_qp *>(qp)); }

static inline int ep4j_to_init(void *qp, int port, int pkey) {
    ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = static_cast<uint16_t>(pkey);
    attributes.port_num = static_cast<uint8_t>(port);
    attributes.qp_access_flags =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    int error = ibv_modify_qp(static_cast<ibv_qp *>(qp), &attributes,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error == EOPNOTSUPP || error == EINVAL) {
        // Devices without atomics refuse the flag.
        attributes.qp_access_flags &= ~IBV_ACCESS_REMOTE_ATOMIC;
        error = ibv_modify_qp(static_cast<ibv_qp *>(qp), &attributes,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    return -error;
}

// connection: 12 ints (class Connector writes them), the peer's GID in 16 bytes, then the first packet numbers of the
// peer's and of this end
static inline int ep4j_to_ready(void *qp, void *connection) {
    int32_t *values = static_cast<int32_t *>(connection);
    ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = static_cast<ibv_mtu>(values[0]);
    attributes.dest_qp_num = static_cast<uint32_t>(values[1]);
    attributes.rq_psn = static_cast<uint32_t>(values[16]);
    attributes.max_dest_rd_atomic = static_cast<uint8_t>(values[2]);
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.port_num = static_cast<uint8_t>(values[3]);
    attributes.ah_attr.dlid = static_cast<uint16_t>(values[4]);
    attributes.ah_attr.sl = static_cast<uint8_t>(values[5]);
    if (values[6] >= 0) {
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.sgid_index = static_cast<uint8_t>(values[6]);
        attributes.ah_attr.grh.hop_limit = 255;
        attributes.ah_attr.grh.traffic_class = static_cast<uint8_t>(values[7]);
        memcpy(attributes.ah_attr.grh.dgid.raw, values + 12, 16);
    }
    int error = ibv_modify_qp(static_cast<ibv_qp *>(qp), &attributes,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error) {
        return -error;
    }
    memset(&attributes, 0, sizeof(attributes));
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = static_cast<uint32_t>(values[17]);
    attributes.max_rd_atomic = static_cast<uint8_t>(values[8]);
    attributes.timeout = static_cast<uint8_t>(values[9]);
    attributes.retry_cnt = static_cast<uint8_t>(values[10]);
    attributes.rnr_retry = static_cast<uint8_t>(values[11]);
    return -ibv_modify_qp(static_cast<ibv_qp *>(qp), &attributes,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT);
}

static inline int ep4j_to_error(void *qp) {
    ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.qp_state = IBV_QPS_ERR;
    return -ibv_modify_qp(static_cast<ibv_qp *>(qp), &attributes, IBV_QP_STATE);
}

namespace ep4j {

// One work request; class SendQueue.Batch writes it.
struct Command {
    uint64_t qp;
    uint64_t wr_id;
    uint64_t remote;
    uint64_t local;
    uint64_t add;
    uint32_t rkey;
    uint32_t lkey;
    uint32_t length;
    uint32_t imm;
    uint32_t opcode;
    uint32_t flags;
};
static_assert(sizeof(Command) == 64, "class SendQueue.Batch knows the size");

enum Op : uint32_t { WRITE = 0, ADD = 1, WRITE_IMM = 2, READ = 3 };

// Chains are kept short: the NIC starts on the first request when the chain is rung in.
static const int CHAIN = 8;

} // namespace ep4j

// Posts requests in order, those of one queue pair that follow each other as chains. Returns how many were posted; where
// that is fewer than count, error receives the errno.
static inline int ep4j_post(void *commands, int count, void *error) {
    ep4j::Command *all = static_cast<ep4j::Command *>(commands);
    ibv_send_wr requests[ep4j::CHAIN];
    ibv_sge pieces[ep4j::CHAIN];
    *static_cast<int32_t *>(error) = 0;
    int done = 0;
    while (done < count) {
        uint64_t qp = all[done].qp;
        int length = 0;
        while (length < ep4j::CHAIN && done + length < count && all[done + length].qp == qp) {
            const ep4j::Command &command = all[done + length];
            ibv_send_wr &request = requests[length];
            memset(&request, 0, sizeof(request));
            request.wr_id = command.wr_id;
            request.send_flags = command.flags;
            if (length > 0) {
                requests[length - 1].next = &request;
            }
            pieces[length].addr = command.local;
            pieces[length].length = command.length;
            pieces[length].lkey = command.lkey;
            request.sg_list = &pieces[length];
            request.num_sge = command.length > 0 ? 1 : 0;
            switch (command.opcode) {
            case ep4j::ADD:
                request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
                request.wr.atomic.remote_addr = command.remote;
                request.wr.atomic.rkey = command.rkey;
                request.wr.atomic.compare_add = command.add;
                break;
            case ep4j::WRITE_IMM:
                request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
                request.imm_data = htonl(command.imm);
                request.wr.rdma.remote_addr = command.remote;
                request.wr.rdma.rkey = command.rkey;
                break;
            case ep4j::READ:
                request.opcode = IBV_WR_RDMA_READ;
                request.wr.rdma.remote_addr = command.remote;
                request.wr.rdma.rkey = command.rkey;
                break;
            default:
                request.opcode = IBV_WR_RDMA_WRITE;
                request.wr.rdma.remote_addr = command.remote;
                request.wr.rdma.rkey = command.rkey;
            }
            length++;
        }
        ibv_send_wr *bad = nullptr;
        int result = ibv_post_send(reinterpret_cast<ibv_qp *>(qp), requests, &bad);
        if (result) {
            *static_cast<int32_t *>(error) = result;
            return done + (bad ? static_cast<int>(bad - requests) : 0);
        }
        done += length;
    }
    return done;
}

// Receives without memory, for immediates. Returns how many were posted; a negated errno where none was.
static inline int ep4j_post_receives(void *qp, int64_t wr_id, int count) {
    ibv_recv_wr request;
    memset(&request, 0, sizeof(request));
    request.wr_id = static_cast<uint64_t>(wr_id);
    for (int i = 0; i < count; i++) {
        ibv_recv_wr *bad = nullptr;
        int error = ibv_post_recv(static_cast<ibv_qp *>(qp), &request, &bad);
        if (error) {
            return i > 0 ? i : -error;
        }
    }
    return count;
}

namespace ep4j {

struct Completion {
    uint64_t wr_id;
    uint32_t status;
    uint32_t vendor;
    uint32_t imm;
};
static_assert(sizeof(Completion) == 24 && offsetof(Completion, imm) == 16, "class Completions knows the size");

} // namespace ep4j

// Takes completions out of several queues. cqs: addresses; polls: number of polls of all queues, until something is there. Returns how many
// were written to out.
static inline int ep4j_poll(void *cqs, int queues, void *out, int capacity, int polls) {
    static const int BATCH = 16;
    ibv_wc found[BATCH];
    ep4j::Completion *target = static_cast<ep4j::Completion *>(out);
    uint64_t *addresses = static_cast<uint64_t *>(cqs);
    int total = 0;
    for (int poll = 0; total == 0 && poll < polls; poll++) {
        for (int i = 0; i < queues; i++) {
            while (total < capacity) {
                int wanted = capacity - total < BATCH ? capacity - total : BATCH;
                int count = ibv_poll_cq(reinterpret_cast<ibv_cq *>(addresses[i]), wanted, found);
                if (count < 0) {
                    return count;
                }
                for (int j = 0; j < count; j++) {
                    ep4j::Completion &completion = target[total++];
                    completion.wr_id = found[j].wr_id;
                    completion.status = found[j].status;
                    completion.vendor = found[j].vendor_err;
                    // The opcode means nothing after an error.
                    bool received = found[j].status == IBV_WC_SUCCESS && (found[j].opcode & IBV_WC_RECV);
                    completion.imm = received && (found[j].wc_flags & IBV_WC_WITH_IMM) ? ntohl(found[j].imm_data) : 0;
                }
                if (count < wanted) {
                    break;
                }
            }
        }
    }
    return total;
}

// Waits for an event of the device. Returns 1 with type and port (or -1) in out, or 0 after the time.
static inline int ep4j_next_event(void *context, int milliseconds, void *out) {
    ibv_context *device = static_cast<ibv_context *>(context);
    pollfd waiting = {device->async_fd, POLLIN, 0};
    int ready = poll(&waiting, 1, milliseconds);
    if (ready <= 0) {
        return ready == 0 || errno == EINTR ? 0 : -errno;
    }
    ibv_async_event event;
    memset(&event, 0, sizeof(event));
    if (ibv_get_async_event(device, &event)) {
        return errno == EAGAIN || errno == EINTR ? 0 : -(errno > 0 ? errno : EIO);
    }
    int32_t *values = static_cast<int32_t *>(out);
    values[0] = event.event_type;
    switch (event.event_type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        values[1] = event.element.port_num;
        break;
    default:
        values[1] = -1;
    }
    ibv_ack_async_event(&event);
    return 1;
}

static inline int ep4j_text(const char *text, void *out, int capacity) {
    return snprintf(static_cast<char *>(out), static_cast<size_t>(capacity), "%s", text ? text : "");
}

static inline int ep4j_status_text(int status, void *out, int capacity) {
    return ep4j_text(ibv_wc_status_str(static_cast<ibv_wc_status>(status)), out, capacity);
}

static inline int ep4j_event_text(int event, void *out, int capacity) {
    return ep4j_text(ibv_event_type_str(static_cast<ibv_event_type>(event)), out, capacity);
}

static inline int ep4j_error_text(int error, void *out, int capacity) {
    char text[128];
    return ep4j_text(strerror_r(error, text, sizeof(text)), out, capacity);
}
