// What org.ep4j.backend.efa.Libfabric calls. Most of libfabric is inline C that calls through tables of its objects, so this
// file is where it is compiled. Objects travel as addresses, structures as flat records in native byte order, whose layouts
// are described beside each function. Functions return 0 or more on success and a negated error number on failure.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

namespace ep4j {

// Some libraries that libfabric brings along (psm, psm2) and some of its providers put handlers of their own on SIGSEGV and
// others as they start. A JVM lives by its own: it meets SIGSEGV all the time, and ends where another handler gets it.
class Signals {
  public:
    Signals() {
        for (int s = 1; s < COUNT; s++) {
            known_[s] = sigaction(s, nullptr, &before_[s]) == 0;
        }
    }

    ~Signals() {
        for (int s = 1; s < COUNT; s++) {
            struct sigaction now;
            if (known_[s] && sigaction(s, nullptr, &now) == 0 && now.sa_sigaction != before_[s].sa_sigaction) {
                sigaction(s, &before_[s], nullptr);
            }
        }
    }

    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;

  private:
    static const int COUNT = 32;
    bool known_[COUNT];
    struct sigaction before_[COUNT];
};

// A variable of the environment for a short time, unless it is there already.
class Variable {
  public:
    Variable(const char *name, const char *value) : name_(name), set_(!getenv(name)) {
        if (set_) {
            setenv(name, value, 0);
        }
    }

    ~Variable() {
        if (set_) {
            unsetenv(name_);
        }
    }

    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

  private:
    const char *name_;
    bool set_;
};

static inline const char *text(const char *value) { return value ? value : ""; }

// What libfabric exports; all else is behind tables of its objects. It is opened by us and not by the linker, so that
// Signals stand around that.
struct Library {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_version) version;
    decltype(&::fi_strerror) strerror;
    bool loaded;
};

static inline Library &library() {
    static Library one;
    return one;
}

template <typename T> static inline bool find(void *handle, const char *name, T &function) {
    function = reinterpret_cast<T>(dlsym(handle, name));
    return function != nullptr;
}

struct Domain {
    fi_info *info;
    fid_fabric *fabric;
    fid_domain *domain;
    int device_memory; // 0, or why its endpoints do not take memory of GPUs as it must be taken
};

// What headers before 1.20 do not have: fi_mr_dmabuf and FI_MR_DMABUF; before 1.18: two options of endpoints.
struct DmaBuf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base_addr;
};
const uint64_t DMABUF = 1ULL << 40;
const int CUDA_API_PERMITTED = FI_OPT_FI_HMEM_P2P + 2;
const int SHARED_MEMORY_PERMITTED = FI_OPT_FI_HMEM_P2P + 3;

// Context of an operation: what the mode bits FI_CONTEXT and FI_CONTEXT2 ask for, then ours.
struct Context {
    fi_context2 provider;
    int32_t slot;
};

struct EndPoint {
    Domain *domain;
    fid_ep *ep;
    fid_cq *cq;
    fid_av *av;
    fi_addr_t peer;
    Context *contexts;
    Context *receives;
    int slots;
    int posted;
    char error[256];
};

// A completion, as Java reads it: 16 bytes.
struct Completion {
    int32_t kind; // 0 an own write is done, 1 an immediate has come, 2 an own write has failed, 3 something else has failed
    int32_t slot;
    uint32_t immediate;
    int32_t error;
};

template <typename T> static inline void drop(T *&object) {
    if (object) {
        fi_close(&object->fid);
        object = nullptr;
    }
}

static inline uint64_t wanted_modes() { return FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA; }

static inline int memory_modes() {
    return FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
}

static inline const fi_info *nth(void *list, int index) {
    const fi_info *info = static_cast<fi_info *>(list);
    while (info && index-- > 0) {
        info = info->next;
    }
    return info;
}

static inline int post_receive(EndPoint *point, Context *context) {
    ssize_t result = fi_recv(point->ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, context);
    return static_cast<int>(result);
}

} // namespace ep4j

// Loads the library; a second call does nothing. Returns 0, or the length of what is wrong. Not for several threads at once.
static inline int ep4j_fi_load(void *out, int capacity) {
    ep4j::Library &all = ep4j::library();
    if (all.loaded) {
        return 0;
    }
    ep4j::Signals signals;
    // With these, psm and psm2 leave signals alone from the start.
    ep4j::Variable psm("IPATH_NO_BACKTRACE", "1");
    ep4j::Variable psm2("HFI_NO_BACKTRACE", "1");
    // ofi_rxm, below tcp and verbs, holds thousands of buffers for messages at every endpoint, over 100 MiB; none is sent here.
    ep4j::Variable rxm("FI_OFI_RXM_BUFFER_SIZE", "1024");
    // It makes completion queues for so many peers, 256 otherwise, each of 256 entries: more than some NICs have in one (rdma_rxe
    // 32767). Every endpoint has one peer here, with a connection from either side.
    ep4j::Variable universe("FI_UNIVERSE_SIZE", "8");
    void *handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle && ep4j::find(handle, "fi_getinfo", all.getinfo) && ep4j::find(handle, "fi_freeinfo", all.freeinfo) &&
        ep4j::find(handle, "fi_dupinfo", all.dupinfo) && ep4j::find(handle, "fi_fabric", all.fabric) &&
        ep4j::find(handle, "fi_version", all.version) && ep4j::find(handle, "fi_strerror", all.strerror)) {
        // The first call starts the providers.
        fi_info *found = nullptr;
        if (all.getinfo(FI_VERSION(1, 5), nullptr, nullptr, FI_PROV_ATTR_ONLY, nullptr, &found) == 0) {
            all.freeinfo(found);
        }
        all.loaded = true;
        return 0;
    }
    const char *problem = dlerror();
    return snprintf(static_cast<char *>(out), capacity, "%s", ep4j::text(problem));
}

// The version of the library, major << 16 | minor.
static inline int ep4j_fi_version() { return static_cast<int>(ep4j::library().version()); }

namespace ep4j {

static inline int list(const char *name, bool device_memory, fi_info **found) {
    Library &library = ep4j::library();
    fi_info *hints = library.dupinfo(nullptr);
    if (!hints) {
        return -FI_ENOMEM;
    }
    hints->caps = FI_MSG | FI_RMA | FI_WRITE | FI_REMOTE_WRITE | FI_SEND | FI_RECV | (device_memory ? FI_HMEM : 0);
    hints->mode = wanted_modes();
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = memory_modes() | (device_memory ? FI_MR_HMEM : 0);
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->cq_data_size = 4;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    if (name && *name) {
        hints->fabric_attr->prov_name = strdup(name);
    }
    uint32_t mine = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    uint32_t theirs = library.version();
    int result = library.getinfo(theirs < mine ? theirs : mine, nullptr, nullptr, 0, hints, found);
    library.freeinfo(hints);
    return result;
}

} // namespace ep4j

// provider: its name, or an empty text for any. device_memory: 1 puts those first that take memory of GPUs, which come a second time
// without. Returns a list, or -FI_ENODATA where there is nothing.
static inline int64_t ep4j_fi_list(void *provider, int device_memory) {
    ep4j::Signals signals;
    const char *name = static_cast<const char *>(provider);
    fi_info *able = nullptr;
    if (device_memory && ep4j::list(name, true, &able)) {
        able = nullptr;
    }
    fi_info *all = nullptr;
    int result = ep4j::list(name, false, &all);
    if (!able) {
        return result ? result : reinterpret_cast<int64_t>(all);
    }
    fi_info *last = able;
    while (last->next) {
        last = last->next;
    }
    last->next = result ? nullptr : all;
    return reinterpret_cast<int64_t>(able);
}

static inline void ep4j_fi_free(void *list) {
    ep4j::library().freeinfo(static_cast<fi_info *>(list));
}

// One entry of a list as lines "name=value"; returns the length, or -FI_ENODATA behind the end.
static inline int ep4j_fi_describe(void *list, int index, void *out, int capacity) {
    const fi_info *info = ep4j::nth(list, index);
    if (!info) {
        return -FI_ENODATA;
    }
    char address[128] = "";
    size_t length = sizeof(address) - 1;
    if (info->src_addr) {
        switch (info->addr_format) {
        case FI_SOCKADDR_IN:
            snprintf(address, length, "ipv4:%u.%u.%u.%u", static_cast<unsigned char *>(info->src_addr)[4],
                     static_cast<unsigned char *>(info->src_addr)[5], static_cast<unsigned char *>(info->src_addr)[6],
                     static_cast<unsigned char *>(info->src_addr)[7]);
            break;
        case FI_SOCKADDR_IN6:
            snprintf(address, length, "ipv6:%02x%02x", static_cast<unsigned char *>(info->src_addr)[8],
                     static_cast<unsigned char *>(info->src_addr)[9]);
            break;
        default:
            break;
        }
    }
    const fid_nic *nic = info->nic;
    const char *device = nic && nic->device_attr ? ep4j::text(nic->device_attr->name) : "";
    const char *driver = nic && nic->device_attr ? ep4j::text(nic->device_attr->driver) : "";
    const char *vendor = nic && nic->device_attr ? ep4j::text(nic->device_attr->vendor_id) : "";
    const char *part = nic && nic->device_attr ? ep4j::text(nic->device_attr->device_id) : "";
    unsigned long long speed = nic && nic->link_attr ? nic->link_attr->speed : 0;
    return snprintf(
        static_cast<char *>(out), capacity,
        "provider=%s\nfabric=%s\ndomain=%s\ndevice=%s\ndriver=%s\nvendor=%s\npart=%s\nspeed=%llu\naddress=%s\n"
        "hmem=%d\nmr_mode=%d\nmode=%llu\ntx_size=%llu\nrx_size=%llu\ninject=%llu\nmax_message=%llu\nwaw=%d\n",
        ep4j::text(info->fabric_attr->prov_name), ep4j::text(info->fabric_attr->name),
        ep4j::text(info->domain_attr->name), device, driver, vendor, part, speed, address,
        (info->caps & FI_HMEM) ? 1 : 0, info->domain_attr->mr_mode,
        static_cast<unsigned long long>(info->mode), static_cast<unsigned long long>(info->tx_attr->size),
        static_cast<unsigned long long>(info->rx_attr->size),
        static_cast<unsigned long long>(info->tx_attr->inject_size),
        static_cast<unsigned long long>(info->ep_attr->max_msg_size), (info->tx_attr->msg_order & FI_ORDER_WAW) ? 1 : 0);
}

// Opens fabric and domain of an entry. traffic_class: DSCP value, or -1.
static inline int64_t ep4j_fi_open(void *list, int index, int traffic_class) {
    ep4j::Signals signals;
    const fi_info *info = ep4j::nth(list, index);
    if (!info) {
        return -FI_ENODATA;
    }
    ep4j::Domain *domain = new (std::nothrow) ep4j::Domain();
    if (!domain) {
        return -FI_ENOMEM;
    }
    domain->info = ep4j::library().dupinfo(info);
    if (!domain->info) {
        delete domain;
        return -FI_ENOMEM;
    }
    if (traffic_class >= 0) {
        domain->info->domain_attr->tclass = fi_tc_dscp_set(static_cast<uint8_t>(traffic_class));
        domain->info->tx_attr->tclass = domain->info->domain_attr->tclass;
    }
    int result = ep4j::library().fabric(domain->info->fabric_attr, &domain->fabric, nullptr);
    if (!result) {
        result = fi_domain(domain->fabric, domain->info, &domain->domain, nullptr);
    }
    if (result) {
        ep4j::drop(domain->fabric);
        ep4j::library().freeinfo(domain->info);
        delete domain;
        return result;
    }
    return reinterpret_cast<int64_t>(domain);
}

static inline void ep4j_fi_close(void *handle) {
    ep4j::Domain *domain = static_cast<ep4j::Domain *>(handle);
    ep4j::drop(domain->domain);
    ep4j::drop(domain->fabric);
    ep4j::library().freeinfo(domain->info);
    delete domain;
}

// Registers memory that peers write to and that is written from. key: what to call it where the provider leaves that to us.
// endpoint: what to bind it to where the provider asks for it, else null. hmem, number: the fi_hmem_iface of the
// GPU whose memory it is, and its number there; FI_HMEM_SYSTEM for memory of the host. fd, offset: a dma-buf and where the memory begins in it, or -1. out: descriptor, key, both of 64 bits.
static inline int64_t ep4j_fi_register(void *handle, void *address, int64_t bytes, int64_t key, void *endpoint, int hmem,
                                       int number, int fd, int64_t offset, void *out) {
    ep4j::Domain *domain = static_cast<ep4j::Domain *>(handle);
    fid_mr *region = nullptr;
    // A library that is newer than these headers reads further.
    union {
        fi_mr_attr attr;
        char room[512];
    } memory;
    memset(&memory, 0, sizeof(memory));
    iovec range;
    range.iov_base = address;
    range.iov_len = static_cast<size_t>(bytes);
    ep4j::DmaBuf dmabuf;
    dmabuf.fd = fd;
    dmabuf.offset = static_cast<uint64_t>(offset);
    dmabuf.len = static_cast<size_t>(bytes);
    dmabuf.base_addr = static_cast<char *>(address) - offset;
    // One union in newer headers.
    memory.attr.mr_iov = fd < 0 ? &range : reinterpret_cast<iovec *>(&dmabuf);
    memory.attr.iov_count = 1;
    memory.attr.access = FI_WRITE | FI_REMOTE_WRITE;
    memory.attr.requested_key = static_cast<uint64_t>(key);
    memory.attr.iface = static_cast<fi_hmem_iface>(hmem);
    // One union: the number of an AMD GPU is there, too.
    memory.attr.device.cuda = number;
    if (fd >= 0 && ep4j::library().version() < FI_VERSION(1, 20)) {
        return -FI_ENOSYS;
    }
    bool host = hmem == FI_HMEM_SYSTEM;
    int result = host ? fi_mr_reg(domain->domain, address, static_cast<size_t>(bytes), FI_WRITE | FI_REMOTE_WRITE, 0,
                                  static_cast<uint64_t>(key), 0, &region, nullptr)
                      : fi_mr_regattr(domain->domain, &memory.attr, fd < 0 ? 0 : ep4j::DMABUF, &region);
    if (result) {
        return result;
    }
    if (domain->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        ep4j::EndPoint *point = static_cast<ep4j::EndPoint *>(endpoint);
        result = point ? fi_mr_bind(region, &point->ep->fid, 0) : -FI_EINVAL;
        if (!result) {
            result = fi_mr_enable(region);
        }
        if (result) {
            fi_close(&region->fid);
            return result;
        }
    }
    uint64_t *values = static_cast<uint64_t *>(out);
    values[0] = reinterpret_cast<uint64_t>(fi_mr_desc(region));
    values[1] = fi_mr_key(region);
    return reinterpret_cast<int64_t>(region);
}

// 0 where endpoints of a domain, once there are any, read and write memory of GPUs without calls of CUDA, which would wait for
// kernels that wait for them.
static inline int ep4j_fi_device_memory(void *handle) { return static_cast<ep4j::Domain *>(handle)->device_memory; }

static inline int ep4j_fi_deregister(void *region) { return fi_close(&static_cast<fid_mr *>(region)->fid); }

static inline void ep4j_fi_close_endpoint(void *handle) {
    ep4j::EndPoint *point = static_cast<ep4j::EndPoint *>(handle);
    ep4j::drop(point->ep);
    ep4j::drop(point->cq);
    ep4j::drop(point->av);
    delete[] point->contexts;
    delete[] point->receives;
    delete point;
}

static inline int64_t ep4j_fi_endpoint_once(void *handle, int slots, int completions) {
    ep4j::Signals signals;
    ep4j::Domain *domain = static_cast<ep4j::Domain *>(handle);
    ep4j::EndPoint *point = new (std::nothrow) ep4j::EndPoint();
    if (!point) {
        return -FI_ENOMEM;
    }
    point->domain = domain;
    point->slots = slots;
    point->contexts = new (std::nothrow) ep4j::Context[slots]();
    bool receives = (domain->info->mode & FI_RX_CQ_DATA) != 0;
    size_t room = domain->info->rx_attr->size;
    point->posted = receives ? static_cast<int>(room < 1024 ? room : 1024) : 0;
    point->receives = new (std::nothrow) ep4j::Context[point->posted + 1]();
    if (!point->contexts || !point->receives) {
        ep4j_fi_close_endpoint(point);
        return -FI_ENOMEM;
    }
    for (int i = 0; i < slots; i++) {
        point->contexts[i].slot = i;
    }
    fi_av_attr av;
    memset(&av, 0, sizeof(av));
    av.type = FI_AV_TABLE;
    av.count = 1;
    fi_cq_attr cq;
    memset(&cq, 0, sizeof(cq));
    cq.size = static_cast<size_t>(completions);
    cq.format = FI_CQ_FORMAT_DATA;
    cq.wait_obj = FI_WAIT_NONE;
    int result = fi_endpoint(domain->domain, domain->info, &point->ep, nullptr);
    if (!result) {
        result = fi_av_open(domain->domain, &av, &point->av, nullptr);
    }
    if (!result) {
        result = fi_cq_open(domain->domain, &cq, &point->cq, nullptr);
    }
    if (!result) {
        result = fi_ep_bind(point->ep, &point->av->fid, 0);
    }
    if (!result) {
        result = fi_ep_bind(point->ep, &point->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    if (!result && (domain->info->caps & FI_HMEM)) {
        int required = FI_HMEM_P2P_REQUIRED;
        bool permitted = false;
        int direct = fi_setopt(&point->ep->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &required, sizeof(required));
        if (ep4j::library().version() >= FI_VERSION(1, 18)) {
            int quiet = fi_setopt(&point->ep->fid, FI_OPT_ENDPOINT, ep4j::CUDA_API_PERMITTED, &permitted, sizeof(permitted));
            direct = direct == -FI_EOPNOTSUPP ? direct : quiet;
            fi_setopt(&point->ep->fid, FI_OPT_ENDPOINT, ep4j::SHARED_MEMORY_PERMITTED, &permitted, sizeof(permitted));
        }
        // A provider that does not know an option has nothing but direct transfers.
        domain->device_memory = direct == -FI_EOPNOTSUPP ? direct : 0;
    }
    if (!result) {
        result = fi_enable(point->ep);
    }
    for (int i = 0; !result && i < point->posted; i++) {
        point->receives[i].slot = -1;
        result = ep4j::post_receive(point, &point->receives[i]);
    }
    if (result) {
        ep4j_fi_close_endpoint(point);
        return result;
    }
    return reinterpret_cast<int64_t>(point);
}

// An endpoint with its own completion queue. slots: writes that may be under way; completions: room for what comes in. shm names its memory by the number
// of the process and a count, and will not have a name that a process of the same number left behind when it was killed: each try has the next count.
static inline int64_t ep4j_fi_endpoint(void *handle, int slots, int completions) {
    int64_t result = -FI_EBUSY;
    for (int tries = 0; tries < 64 && result == -FI_EBUSY; tries++) {
        result = ep4j_fi_endpoint_once(handle, slots, completions);
    }
    return result;
}

// The address of an endpoint; returns its length.
static inline int ep4j_fi_name(void *handle, void *out, int capacity) {
    ep4j::EndPoint *point = static_cast<ep4j::EndPoint *>(handle);
    size_t length = static_cast<size_t>(capacity);
    int result = fi_getname(&point->ep->fid, out, &length);
    return result ? result : static_cast<int>(length);
}

// Gives an endpoint the address of its only peer.
static inline int ep4j_fi_peer(void *handle, void *name) {
    ep4j::EndPoint *point = static_cast<ep4j::EndPoint *>(handle);
    int result = fi_av_insert(point->av, name, 1, &point->peer, 0, nullptr);
    return result == 1 ? 0 : (result < 0 ? result : -FI_EADDRNOTAVAIL);
}

// Posts a write with an immediate. delivered: 1 completes it when it has arrived, 0 when its source may be written again.
// -FI_EAGAIN where the queue is full, or the connection is not there yet.
static inline int ep4j_fi_write(void *handle, int64_t remote, int64_t key, void *local, void *descriptor, int64_t length,
                                int slot, int immediate, int delivered) {
    ep4j::EndPoint *point = static_cast<ep4j::EndPoint *>(handle);
    iovec from;
    from.iov_base = local;
    from.iov_len = static_cast<size_t>(length);
    fi_rma_iov to;
    to.addr = static_cast<uint64_t>(remote);
    to.len = static_cast<size_t>(length);
    to.key = static_cast<uint64_t>(key);
    fi_msg_rma message;
    memset(&message, 0, sizeof(message));
    message.msg_iov = &from;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = point->peer;
    message.rma_iov = &to;
    message.rma_iov_count = 1;
    message.context = &point->contexts[slot];
    message.data = static_cast<uint32_t>(immediate);
    uint64_t when = delivered ? FI_DELIVERY_COMPLETE : FI_INJECT_COMPLETE;
    return static_cast<int>(fi_writemsg(point->ep, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION | when));
}

// Takes completions out, and makes progress. Returns how many.
static inline int ep4j_fi_poll(void *handle, void *out, int capacity) {
    ep4j::EndPoint *point = static_cast<ep4j::EndPoint *>(handle);
    ep4j::Completion *list = static_cast<ep4j::Completion *>(out);
    const int batch = 16;
    fi_cq_data_entry entries[batch];
    int count = 0;
    while (count < capacity) {
        int most = capacity - count < batch ? capacity - count : batch;
        ssize_t got = fi_cq_read(point->cq, entries, static_cast<size_t>(most));
        if (got == -FI_EAGAIN || got == 0) {
            break;
        }
        if (got == -FI_EAVAIL) {
            fi_cq_err_entry failed;
            memset(&failed, 0, sizeof(failed));
            got = fi_cq_readerr(point->cq, &failed, 0);
            if (got == -FI_EAGAIN) {
                break;
            }
            if (got < 0) {
                return static_cast<int>(got);
            }
            const char *text = fi_cq_strerror(point->cq, failed.prov_errno, failed.err_data, nullptr, 0);
            snprintf(point->error, sizeof(point->error), "provider error %d (%s)", failed.prov_errno, ep4j::text(text));
            ep4j::Completion &one = list[count++];
            bool own = failed.op_context && !(failed.flags & (FI_RECV | FI_REMOTE_WRITE | FI_REMOTE_READ));
            one.kind = own ? 2 : 3;
            one.slot = own ? static_cast<ep4j::Context *>(failed.op_context)->slot : -1;
            one.immediate = 0;
            one.error = failed.err;
            continue;
        }
        if (got < 0) {
            return static_cast<int>(got);
        }
        for (ssize_t i = 0; i < got; i++) {
            const fi_cq_data_entry &entry = entries[i];
            // An immediate has no context of ours, or that of a posted receive.
            bool came = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
            if (!came && !entry.op_context) {
                continue;
            }
            ep4j::Completion &one = list[count++];
            one.kind = came ? 1 : 0;
            one.slot = came ? -1 : static_cast<ep4j::Context *>(entry.op_context)->slot;
            one.immediate = came ? static_cast<uint32_t>(entry.data) : 0;
            one.error = 0;
            if (came && point->posted > 0 && entry.op_context) {
                int result = ep4j::post_receive(point, static_cast<ep4j::Context *>(entry.op_context));
                if (result) {
                    return result;
                }
            }
        }
        // Every read lets the provider move bytes, with calls of the kernel: another one that finds nothing is not for free.
        if (got < most) {
            break;
        }
    }
    return count;
}

// What the provider says of the failure that the last poll found.
static inline int ep4j_fi_failure(void *handle, void *out, int capacity) {
    return snprintf(static_cast<char *>(out), capacity, "%s", static_cast<ep4j::EndPoint *>(handle)->error);
}

// The text of an error number.
static inline int ep4j_fi_error(int error, void *out, int capacity) {
    return snprintf(static_cast<char *>(out), capacity, "%s", ep4j::library().strerror(error));
}
