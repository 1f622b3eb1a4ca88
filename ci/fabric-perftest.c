// Raw writes of libfabric between two processes of this host, to compare those of ep4j with: fi_writemsg with 32 bits of
// immediate data over reliable datagrams, for ci/fabric-perftest, which compiles it.
//
//   fabric-perftest PROVIDER DOMAIN WINDOW WARMUP REPEATS SIZE:WRITES:TRIPS...
//   fabric-perftest handover
//   fabric-perftest on N COMMAND...
//
// PROVIDER is named as fi_info names it, or by its part before the semicolon; DOMAIN may be empty. At most WINDOW writes are
// under way. WARMUP writes of 8 bytes, and a tenth as many round trips, come first. For each size it prints the medians of
// REPEATS runs: "bw BYTES MB/s", from the first write until the other process has taken the immediates of all, and "p50 BYTES us"
// and "p99 BYTES us": half of a round trip of one write each way. The one process runs on the first processor
// that is allowed, the other on the second. "handover" prints how many nanoseconds a word takes from the one processor to the
// other; "on 0" and "on 1" run a command on one of them.
#define _GNU_SOURCE
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 60, QUEUE = 4096, POLLS = 1024 };

static struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_mr *region;
    fi_addr_t peer;
    char *memory;
    uint64_t target;
    uint64_t key;
    struct fi_context2 *contexts;
    struct fi_context2 **idle;
    long window;
    long posted;
    long done;
    long came;
} us;

struct endpoint_record {
    uint64_t address;
    uint64_t key;
    size_t length;
    char name[256];
};

static void fail(const char *what, long result) {
    fprintf(stderr, "fabric-perftest: %s: %s\n", what, fi_strerror((int)(result < 0 ? -result : result)));
    exit(1);
}

static void check(const char *what, long result) {
    if (result < 0) {
        fail(what, result);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *room(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes)) {
        fail("memory", ENOMEM);
    }
    memset(memory, 0, bytes);
    return memory;
}

static struct fi_info *choose(const char *provider, const char *domain) {
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA | FI_WRITE | FI_REMOTE_WRITE | FI_SEND | FI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->cq_data_size = 4;
    hints->fabric_attr->prov_name = strdup(provider);
    struct fi_info *found = NULL;
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &found));
    for (struct fi_info *one = found; one; one = one->next) {
        if (!*domain || (!strcmp(one->domain_attr->name, domain) && one->addr_format == FI_SOCKADDR_IN)) {
            return fi_dupinfo(one);
        }
    }
    fail(domain, FI_ENODATA);
    return NULL;
}

static void send_all_to(int to, const void *what, size_t bytes) {
    if (write(to, what, bytes) != (ssize_t)bytes) {
        fail("write to the other process", errno);
    }
}

static void hear(int from, void *what, size_t bytes) {
    if (recv(from, what, bytes, MSG_WAITALL) != (ssize_t)bytes) {
        fail("the other process is gone", ECONNRESET);
    }
}

static void meet(int other) {
    char byte = 1;
    send_all_to(other, &byte, 1);
    hear(other, &byte, 1);
}

static void connect_to(int other, const char *provider, const char *domain, size_t bytes) {
    us.info = choose(provider, domain);
    us.contexts = room(sizeof(struct fi_context2) * (size_t)us.window);
    us.idle = room(sizeof(struct fi_context2 *) * (size_t)us.window);
    for (long i = 0; i < us.window; i++) {
        us.idle[i] = &us.contexts[i];
    }
    us.memory = room(bytes);
    check("fi_fabric", fi_fabric(us.info->fabric_attr, &us.fabric, NULL));
    check("fi_domain", fi_domain(us.fabric, us.info, &us.domain, NULL));
    struct fi_av_attr av = {.type = FI_AV_TABLE, .count = 1};
    struct fi_cq_attr cq = {.size = QUEUE, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};
    check("fi_endpoint", fi_endpoint(us.domain, us.info, &us.ep, NULL));
    check("fi_av_open", fi_av_open(us.domain, &av, &us.av, NULL));
    check("fi_cq_open", fi_cq_open(us.domain, &cq, &us.cq, NULL));
    check("fi_ep_bind", fi_ep_bind(us.ep, &us.av->fid, 0));
    check("fi_ep_bind", fi_ep_bind(us.ep, &us.cq->fid, FI_TRANSMIT | FI_RECV));
    check("fi_enable", fi_enable(us.ep));
    check("fi_mr_reg", fi_mr_reg(us.domain, us.memory, bytes, FI_WRITE | FI_REMOTE_WRITE, 0, 1, 0, &us.region, NULL));
    struct endpoint_record mine = {.length = sizeof(mine.name)}, theirs;
    mine.address = us.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)us.memory : 0;
    mine.key = fi_mr_key(us.region);
    check("fi_getname", fi_getname(&us.ep->fid, mine.name, &mine.length));
    send_all_to(other, &mine, sizeof(mine));
    hear(other, &theirs, sizeof(theirs));
    if (fi_av_insert(us.av, theirs.name, 1, &us.peer, 0, NULL) != 1) {
        fail("fi_av_insert", FI_EADDRNOTAVAIL);
    }
    us.target = theirs.address + bytes / 2;
    us.key = theirs.key;
}

static int poll_once(void) {
    struct fi_cq_data_entry entries[16];
    ssize_t got = fi_cq_read(us.cq, entries, 16);
    if (got == -FI_EAGAIN) {
        return 0;
    }
    if (got == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        fi_cq_readerr(us.cq, &error, 0);
        fail("completion", error.err);
    }
    check("fi_cq_read", got);
    for (ssize_t i = 0; i < got; i++) {
        if (entries[i].flags & FI_REMOTE_CQ_DATA) {
            us.came++;
        } else {
            us.done++;
            us.idle[us.window - us.posted + us.done - 1] = entries[i].op_context;
        }
    }
    return (int)got;
}

// Polls until a number has been reached; others may have the processor where nothing comes for long.
static void await(const long *number, long until) {
    double end = 0;
    for (long polls = 1; *number < until; polls++) {
        if (!poll_once() && polls % POLLS == 0) {
            sched_yield();
            end = end == 0 ? now() + SECONDS * 1e6 : end;
            if (now() > end) {
                fail("waiting", ETIMEDOUT);
            }
        }
    }
}

static void post(size_t bytes) {
    await(&us.done, us.posted - us.window + 1);
    struct iovec from = {.iov_base = us.memory, .iov_len = bytes};
    struct fi_rma_iov to = {.addr = us.target, .len = bytes, .key = us.key};
    void *descriptor = fi_mr_desc(us.region);
    struct fi_msg_rma message = {.msg_iov = &from,
                                 .desc = &descriptor,
                                 .iov_count = 1,
                                 .addr = us.peer,
                                 .rma_iov = &to,
                                 .rma_iov_count = 1,
                                 .context = us.idle[us.window - us.posted + us.done - 1],
                                 .data = 1};
    double end = now() + SECONDS * 1e6;
    ssize_t result;
    while ((result = fi_writemsg(us.ep, &message, FI_REMOTE_CQ_DATA | FI_COMPLETION)) == -FI_EAGAIN && now() < end) {
        poll_once();
    }
    check("fi_writemsg", result);
    us.posted++;
}

static int ascending(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

// One run; figures gets bandwidth in MB/s, p50 and p99 in us.
static void measure(int other, int first, size_t bytes, long writes, long trips, double *figures) {
    meet(other);
    long answer = us.came + 1;
    double start = now();
    if (first) {
        for (long i = 0; i < writes; i++) {
            post(bytes);
        }
        await(&us.came, answer);
    } else {
        await(&us.came, us.came + writes);
        post(8);
    }
    double stream = now() - start;
    await(&us.done, us.posted);
    meet(other);
    double *times = room(sizeof(double) * (size_t)trips);
    for (long i = 0; i < trips; i++) {
        double before = now();
        long next = us.came + 1;
        if (first) {
            post(bytes);
        }
        await(&us.came, next);
        if (!first) {
            post(bytes);
        }
        times[i] = (now() - before) / 2;
    }
    await(&us.done, us.posted);
    qsort(times, (size_t)trips, sizeof(double), ascending);
    figures[0] = (double)bytes * (double)writes / stream;
    figures[1] = times[trips / 2];
    figures[2] = times[trips * 99 / 100];
    free(times);
}

static void measure_all(int other, int first, size_t bytes, long writes, long trips, long repeats) {
    static const char *const names[] = {"bw", "p50", "p99"};
    double *all[3];
    for (int f = 0; f < 3; f++) {
        all[f] = room(sizeof(double) * (size_t)repeats);
    }
    for (long i = 0; i < repeats; i++) {
        double figures[3];
        measure(other, first, bytes, writes, trips, figures);
        for (int f = 0; f < 3; f++) {
            all[f][i] = figures[f];
        }
    }
    for (int f = 0; f < 3; f++) {
        qsort(all[f], (size_t)repeats, sizeof(double), ascending);
        if (first) {
            printf("%s %zu %.2f\n", names[f], bytes, all[f][repeats / 2]);
        }
        free(all[f]);
    }
    fflush(stdout);
}

static void run_on(int wanted) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof(all), &all)) {
        fail("sched_getaffinity", errno);
    }
    CPU_ZERO(&one);
    for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && found++ == wanted) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof(one), &one);
            return;
        }
    }
    fail("two processors", ENODEV);
}

// The least of several rounds: what else runs only makes it longer.
static int handover(void) {
    enum { ROUNDS = 20, TRIPS = 5000 };
    atomic_int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED) {
        fail("mmap", errno);
    }
    pid_t child = fork();
    if (child < 0) {
        fail("fork", errno);
    }
    run_on(child == 0);
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int i = 0; i < TRIPS; i++) {
            int turn = 2 * (round * TRIPS + i) + (child == 0);
            while (atomic_load(word) != turn) {
            }
            atomic_store(word, turn + 1);
        }
        double nanos = (now() - start) * 1e3 / (2 * TRIPS);
        best = nanos < best ? nanos : best;
    }
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("%.0f\n", best);
    return 0;
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "handover")) {
        return handover();
    }
    if (count > 3 && !strcmp(words[1], "on")) {
        run_on(atoi(words[2]));
        execvp(words[3], words + 3);
        fail(words[3], errno);
    }
    if (count < 7 || atol(words[3]) < 1 || atol(words[4]) < 10 || atol(words[5]) < 1) {
        fprintf(stderr, "fabric-perftest PROVIDER DOMAIN WINDOW WARMUP REPEATS SIZE:WRITES:TRIPS...\n");
        return 2;
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
        fail("socketpair", errno);
    }
    us.window = atol(words[3]);
    long warmup = atol(words[4]), repeats = atol(words[5]);
    size_t largest = 4096;
    for (int i = 6; i < count; i++) {
        size_t bytes = (size_t)atol(words[i]);
        largest = bytes > largest ? bytes : largest;
    }
    // Each writes from the first half of its memory to the second half of the other's.
    size_t room = 2 * ((largest + 4095) / 4096 * 4096);
    pid_t child = fork();
    if (child < 0) {
        fail("fork", errno);
    }
    int first = child != 0, other = ends[first];
    close(ends[!first]);
    run_on(!first);
    connect_to(other, words[1], words[2], room);
    double ignored[3];
    measure(other, first, 8, warmup, warmup / 10, ignored);
    for (int i = 6; i < count; i++) {
        size_t bytes;
        long writes, trips;
        if (sscanf(words[i], "%zu:%ld:%ld", &bytes, &writes, &trips) != 3 || writes < 1 || trips < 1) {
            fail(words[i], EINVAL);
        }
        measure_all(other, first, bytes, writes, trips, repeats);
    }
    meet(other);
    int status = 0;
    if (first && (waitpid(child, &status, 0) != child || status)) {
        fail("the other process", EIO);
    }
    return 0;
}
