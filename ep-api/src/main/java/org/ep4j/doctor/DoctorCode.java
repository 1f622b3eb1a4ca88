package org.ep4j.doctor;

import java.util.Locale;
import org.ep4j.spi.Check;

/**
 * Every check that the doctor makes. Codes are stable and never reused; {@code docs/reference/doctor.md} is generated from here.
 *
 * <p>A check that could not be made is {@link Check.Status#NOT_RUN}: with a remedy when somebody can do something about it
 * (run as root, say), without one when the machine lacks what it looks at.
 */
public enum DoctorCode {
    /** Settings. */
    SETTINGS(
            "EP-CFG-001",
            "Settings can be read",
            "every ep.* setting of this process, with the environment variables that stand for it",
            "a wrong value is refused when a group is joined, on every rank at once",
            "correct the value that is named",
            "ep4j itself"),
    /** What the reader of the machine found odd. */
    MACHINE_READ(
            "EP-TOPO-001",
            "The machine was understood",
            "warnings of the reader of the machine",
            "planning counts on what was read; parts that were taken to be ordinary may not be",
            "look at ./ep topo and set ep.nic.map by hand where it is wrong",
            "ep4j itself"),
    /** GPU links that are missing on some GPUs. */
    GPU_LINKS(
            "EP-GPU-001",
            "All GPUs have their links",
            "links of every GPU to other GPUs and to their switches",
            "a GPU whose links did not come up is reached over PCIe, and NCCL says nothing about it; every step waits for it",
            "look at nvidia-smi nvlink -s or rocm-smi --showtopo, restart the fabric manager, then reset the GPUs",
            "seen in topology dumps of GB300 machines, where one GPU had no NVLink"),
    /** Channels for memory handles across hosts. */
    IMEX_CHANNELS(
            "EP-GPU-002",
            "NVLink domain beyond the host: IMEX channels",
            "/dev/nvidia-caps-imex-channels where a GPU belongs to a domain of several hosts",
            "without a channel, memory handles cannot be exported to other hosts, and NVLink stays inside the host",
            "start nvidia-imex on all hosts of the domain and give the container a channel",
            "NVIDIA IMEX guide; NCCL mnnvl.cc"),
    /** All GPUs use one NIC. */
    ONE_NIC_FOR_ALL(
            "EP-NIC-001",
            "GPUs do not all use one NIC",
            "the NICs that are assigned to the GPUs of this host, and NVSHMEM_ENABLE_NIC_PE_MAPPING",
            "6.5 GB/s instead of 36 to 80: all eight GPUs had taken mlx5_0",
            "let ep4j assign NICs (leave ep.nic.map empty), or give every GPU its own in ep.nic.map",
            "deepseek-ai/DeepEP issue 336, pull request 466"),
    /** Two GPUs use one NIC, another NIC is idle. */
    NIC_SHARED_WHILE_ANOTHER_IDLES(
            "EP-NIC-002",
            "No two GPUs share a NIC while an equally near one idles",
            "the NICs that are assigned to the GPUs of this host, and which NICs are as near",
            "half of the bandwidth: on machines with two GPUs and two NICs on a switch, both GPUs took the first NIC",
            "let ep4j assign NICs (leave ep.nic.map empty), or give every GPU its own in ep.nic.map",
            "deepseek-ai/DeepEP pull request 466, llm-d/llm-d pull request 397"),
    /** A NIC is too far for GPUDirect. */
    NIC_FAR(
            "EP-NIC-003",
            "NICs are near enough for GPUDirect",
            "path type between every GPU and its NICs: up to PXB, or P2C on machines with chip links",
            "beyond it bytes pass the processor or the link between NUMA nodes; a second NIC that was far lowered 38.7 to"
                    + " 13.8 GB/s",
            "choose nearer NICs in ep.nic.map; in a virtual machine, have the host pass its PCI tree on",
            "NCCL graph/paths.cc (ncclTopoCheckGdr); MSCCL++ low-latency history, phase 9"),
    /** Ports are down. */
    PORT_DOWN(
            "EP-NIC-004",
            "Ports are active",
            "state of every port of NICs that carry traffic",
            "a rank whose NIC is down cannot join, or the plan moves its traffic to NICs of others",
            "look at the cable and the switch, and at ibstat or rdma link",
            "deepseek-ai/DeepEP issues 17, 38, 55"),
    /** Ports differ in rate. */
    PORT_RATES(
            "EP-NIC-005",
            "Ports have one rate",
            "rate of every active port of NICs that carry traffic",
            "an exchange ends with its slowest rank; a port that came up with fewer lanes slows all of them",
            "look at the cable, the switch's port and mlxlink; leave slower NICs out with ep.nic.exclude",
            "deepseek-ai/DeepEP issue 82"),
    /** Lists name NICs that do not exist. */
    NIC_NAMES(
            "EP-NIC-006",
            "Lists of NICs name NICs that exist",
            "ep.nic.*, NCCL_IB_HCA, NVSHMEM_HCA_LIST, NVSHMEM_HCA_PE_MAPPING, UCCL_IB_HCA",
            "NICs are renamed by udev or numbered anew; lists that match nothing left libraries without a NIC or hanging",
            "correct the list that is named",
            "deepseek-ai/DeepEP issue 386"),
    /** Families of NIC with their peculiarities. */
    NIC_FAMILY(
            "EP-NIC-007",
            "NICs are of families that ep4j knows",
            "kernel driver and PCI vendor of every NIC",
            "what a NIC cannot do shows late: iWARP in software has no atomics, Slingshot no write with immediate data,"
                    + " kernel RDMA in software cannot reach GPU memory",
            "expect the path that the detail names; use software NICs for tests only",
            "uccl-project/uccl issue 956; deepseek-ai/DeepEP issue 759"),
    /** Ports differ in MTU. */
    PORT_MTUS(
            "EP-NIC-008",
            "RoCE ports have one MTU",
            "MTU of the network interface of every active RoCE port of NICs that carry traffic",
            "both ends of a connection take the smaller MTU: 1024 bytes of data in a packet of 1500, where 4096 fit into one of 4200;"
                    + " smaller packets cost rate, and an exchange ends with its slowest rank",
            "ip link set INTERFACE mtu 4200 or more on the ports that the detail names with the least, as the switches allow",
            "iboe_get_mtu in Linux include/rdma/ib_addr.h"),
    /** Which GID to use. */
    GID_INDEX(
            "EP-GID-001",
            "A usable GID is chosen",
            "the GID table of every active port, and ep.nic.gid-index",
            "link-local, RoCE v1 and empty entries fail when the connection is made, or time out with status 12",
            "leave ep.nic.gid-index at -1, or set it to the index that is named; give the interface an IPv4 address",
            "uccl-project/uccl issue 799; NCCL net_ib/connect.cc"),
    /** No IPv4 on any port. */
    IPV6_ONLY(
            "EP-GID-002",
            "RoCE ports have IPv4 addresses",
            "address families in the GID tables of RoCE ports",
            "software that looks for IPv4 falls back to entry 0, which is link-local, and every transfer fails",
            "ep4j takes the first RoCE v2 entry; for NCCL set NCCL_IB_ADDR_FAMILY=AF_INET6",
            "uccl-project/uccl pull request 803 (bnxt_re with IPv6 only)"),
    /** NICs reach GPU memory. */
    GPU_MEMORY_REGISTRATION(
            "EP-GDR-001",
            "NICs can reach GPU memory",
            "nvidia_peermem or what dma-buf needs; for AMD the peer interface of amdgpu or the kernel's dma-buf options",
            "\"cannot allocate buffer on the specified memory type\"; without it every byte takes a detour through host memory",
            "modprobe nvidia_peermem, or use the open kernel modules on Linux 5.12 or newer for dma-buf",
            "deepseek-ai/DeepEP issues 17, 55, 367; NCCL net_ib/gdr.cc"),
    /** gdrcopy. */
    GDRCOPY(
            "EP-GDR-002",
            "gdrdrv where NVSHMEM needs it",
            "/dev/gdrdrv and the version of NVSHMEM",
            "NVSHMEM before 3.4.5 posts through the processor only with gdrcopy",
            "load gdrdrv, or use NVSHMEM 3.4.5 or newer",
            "NVSHMEM release notes 3.4.5"),
    /** Large registrations. */
    LARGE_REGISTRATIONS(
            "EP-GDR-003",
            "Large GPU buffers can be registered",
            "Intel NICs (irdma) together with an IOMMU that translates",
            "registering more than 2 GiB by dma-buf ends with ENOMEM",
            "set iommu=pt on the kernel's command line",
            "uccl-project/uccl ep/src/rdma.cpp (reg_mr_gpu_dmabuf_chunked)"),
    /** Driver parameter for doorbells from the GPU. */
    PEER_MAPPING(
            "EP-IBGDA-001",
            "GPUs can ring the NIC's doorbell",
            "PeerMappingOverride in /proc/driver/nvidia/params, with NVSHMEM_IBGDA_NIC_HANDLER",
            "mapping the doorbell into the GPU fails (cudaHostRegister, error 800), and the processor has to ring it",
            "set NVreg_RegistryDwords=\"PeerMappingOverride=1;\" for the module nvidia, rebuild the initramfs, reboot",
            "deepseek-ai/DeepEP issue 163; NVIDIA/nvshmem issue 23"),
    /** The processor as handler where that does not work. */
    NIC_HANDLER(
            "EP-IBGDA-002",
            "The chosen NIC handler works here",
            "NVSHMEM_IBGDA_NIC_HANDLER, PeerMappingOverride, gdrdrv and the version of NVSHMEM",
            "before NVSHMEM 3.4.5 the processor can be the handler only with gdrcopy: devices are skipped and the job"
                    + " has no transport; kernels that ring the doorbell themselves, as DeepEP's, hang with it in all versions",
            "make the GPU the handler (see EP-IBGDA-001), or use NVSHMEM 3.4.5 or newer and ep4j's own kernels",
            "deepseek-ai/DeepEP issues 163, 509; NVSHMEM release notes 3.4.5"),
    /** Posting from the GPU needs mlx5. */
    IBGDA_NICS(
            "EP-IBGDA-003",
            "Posting from the GPU has NICs that can",
            "NVSHMEM_IB_ENABLE_IBGDA with the families of the NICs",
            "\"Unable to dlopen libmlx5dv\" looks harmless and is fatal later: only mlx5 can be posted to by the GPU",
            "use nvshmem-ibgda on NVIDIA NICs only; here ibrc-multiqp or efa carry the traffic",
            "deepseek-ai/DeepEP issue 759"),
    /** Name of NVSHMEM's transport. */
    REMOTE_TRANSPORT(
            "EP-IBGDA-004",
            "NVSHMEM_REMOTE_TRANSPORT has a value that exists",
            "NVSHMEM_REMOTE_TRANSPORT",
            "a name that NVSHMEM does not know skips every transport without a word; ibgda is such a name",
            "use ibrc, ucx, libfabric, ibdevx, gpunetio or none; IBGDA is turned on by NVSHMEM_IB_ENABLE_IBGDA=1",
            "NVSHMEM src/host/transport/transport.cpp"),
    /** PCIe atomics. */
    PCIE_ATOMICS(
            "EP-PCI-001",
            "PCIe atomics are there where they are wanted",
            "flags of KFD's links between GPU and processor; AtomicOp bits in the PCI configuration of Broadcom NICs and GPUs",
            "kernels that wait for an atomic which the slot does not pass on never end",
            "use a slot that routes AtomicOps, or turn them on in the firmware; ep4j then counts by writes",
            "ROCm/mori issue 374; Linux kfd_crat.h; PCI Express base specification, Device Capabilities 2"),
    /** IOMMU. */
    IOMMU(
            "EP-PCI-002",
            "The IOMMU does not translate between devices",
            "/sys/class/iommu, the types of the IOMMU groups of GPUs and NICs, /proc/cmdline",
            "with translation, traffic between GPU and NIC goes up to the processor: slow, or it fails",
            "boot with iommu=pt, or turn the IOMMU off where nothing needs it",
            "NCCL user guide, troubleshooting, GPU Direct"),
    /** Access control services. */
    ACS(
            "EP-PCI-003",
            "ACS does not redirect between devices",
            "ACS control of the PCI bridges above GPUs and NICs",
            "switches with redirection send traffic between GPU and NIC up to the root, at a fraction of the bandwidth",
            "turn ACS off: setpci -s BRIDGE ECAP_ACS+0x6.w=0000 after every boot, or in the firmware",
            "NCCL user guide, troubleshooting, PCI Access Control Services"),
    /** NVSHMEM. */
    NVSHMEM_VERSION(
            "EP-LIB-001",
            "NVSHMEM has a version that is known to work",
            "the versions of NVSHMEM that are found",
            "3.5 laid its queue pairs out anew: kernels that index them themselves, as DeepEP's, wait for ever. Before 3.3.9"
                    + " there is one queue pair for each peer",
            "use 3.3.9 to 3.4.x beside software that reads NVSHMEM's structures; ep4j does not read them",
            "deepseek-ai/DeepEP issues 707, 764, pull request 564; NVSHMEM release notes"),
    /** HIPRTC. */
    HIPRTC_VERSION(
            "EP-LIB-002",
            "HIPRTC knows the architecture of the GPUs",
            "the versions of HIPRTC that are found, and the architectures of the GPUs",
            "a HIPRTC that does not know an architecture gives no error, it ends the process; ep4j asks it in a process of its own"
                    + " where it is not sure (EP-HIP-004)",
            "install a ROCm that knows the GPU, and no older one beside it",
            "measured with HIPRTC 5.2.3, 5.7.1 and 6.4.3"),
    /** NVRTC. */
    NVRTC_VERSION(
            "EP-LIB-003",
            "NVRTC knows the architecture of the GPUs",
            "the versions of NVRTC that are found, and the architectures of the GPUs",
            "compiling for a GPU that NVRTC does not know fails when the first buffer is made",
            "install an NVRTC that is new enough",
            "measured with NVRTC 11.8, 12.9, 13.0 and 13.3"),
    /** libmlx5. */
    MLX5_VERSION(
            "EP-LIB-004",
            "libmlx5 is new enough",
            "the version of libmlx5 in its file name",
            "before 1.25 libmlx5 lacks what NCCL and NVSHMEM call for posting from the GPU; they then say that there is no such"
                    + " network, even on one host",
            "install rdma-core 50 or newer, or a newer OFED",
            "deepseek-ai/DeepEP issue 628"),
    /** Two versions of one library. */
    TWO_VERSIONS(
            "EP-LIB-005",
            "No library is there in two versions",
            "the loader's folders, LD_LIBRARY_PATH, CUDA, ROCm and Python packages",
            "which one a process gets depends on who loads first; undefined symbols and wrong versions follow",
            "remove one, or put the right one first in LD_LIBRARY_PATH for every process of the job",
            "deepseek-ai/DeepEP issues 481, 429; aws-samples/awsome-distributed-training pull request 1215"),
    /** User-space drivers of NICs. */
    VERBS_DRIVERS(
            "EP-LIB-006",
            "Every NIC has its user-space driver",
            "libibverbs and the drivers for the families of NIC that are here",
            "a NIC without its driver, or with one of another version than the kernel's, is not listed at all: 0 devices",
            "install the package that brings the driver (ibverbs-providers, rdma-core or the vendor's), of the kernel driver's"
                    + " version",
            "ROCm/mori issue 374 (bnxt_re)"),
    /** Locked memory. */
    LOCKED_MEMORY(
            "EP-MEM-001",
            "Enough memory may be locked",
            "Max locked memory in /proc/self/limits and the capability IPC_LOCK",
            "registering memory with a NIC fails with ENOMEM",
            "ulimit -l unlimited; in containers --ulimit memlock=-1; for services LimitMEMLOCK=infinity",
            "ib_umem_get in Linux; siw obeys the limit even for root (measured)"),
    /** Shared memory. */
    SHARED_MEMORY(
            "EP-MEM-002",
            "/dev/shm is large enough",
            "size of the file system at /dev/shm against the buffers of all ranks of this host",
            "containers get 64 MiB; a buffer that does not fit is refused, or kills the process where nobody checks",
            "docker run --shm-size or --ipc=host; in Kubernetes an emptyDir with medium Memory at /dev/shm",
            "Docker documentation of --shm-size"),
    /** Huge pages. */
    HUGE_PAGES(
            "EP-MEM-003",
            "Huge pages can be used",
            "/sys/kernel/mm/transparent_hugepage and /sys/kernel/mm/hugepages",
            "registered memory in pages of 4 KiB takes 512 times as many entries of the NIC's address table, which then misses",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve pages of 2 MiB (EFA asks for them)",
            "libfabric fi_efa(7), FI_EFA_USE_HUGE_PAGE"),
    /** Lazy connections of NCCL. */
    NCCL_LAZY_CONNECT(
            "EP-NCCL-001",
            "NCCL does not connect lazily beside RDMA of ours",
            "versions of NCCL, NCCL_RUNTIME_CONNECT, families and ports of the NICs",
            "59 became 37 GB/s when NCCL 2.22 began to connect on first use",
            "set the variables that the detail names on all ranks",
            "Infrawaves/DeepEP_ibrc_dual-ports_multiQP README and issue 4"),
    /** Service level or traffic class. */
    TRAFFIC_CLASSES(
            "EP-NET-001",
            "Traffic of ep4j and NCCL is kept apart",
            "ep.nic.service-level and ep.nic.traffic-class against NCCL_IB_SL and NCCL_IB_TC",
            "exchanges and all-reduces on one virtual lane wait for each other; latency of decoding follows the bulk traffic",
            "give ep4j a service level (InfiniBand) or traffic class (RoCE) of its own, as the fabric's administrator has it",
            "deepseek-ai/DeepEP README, traffic isolation"),
    /** Adaptive routing. */
    ADAPTIVE_ROUTING(
            "EP-NET-002",
            "Adaptive routing suits the load",
            "nothing: the subnet manager and the switches decide, and a host cannot ask them",
            "static routes collide under heavy load (30 or 14 GB/s instead of 45); adaptive routes add latency under light load",
            "turn adaptive routing on for the service level of ep4j under heavy load; ep4j never polls the bytes of a write, but"
                    + " counters that advance when the NIC has them all, so it is safe",
            "deepseek-ai/DeepEP README, adaptive routing, and commit 458cdcb");

    private final String code;
    private final String title;
    private final String looksAt;
    private final String why;
    private final String remedy;
    private final String source;

    DoctorCode(String code, String title, String looksAt, String why, String remedy, String source) {
        this.code = code;
        this.title = title;
        this.looksAt = looksAt;
        this.why = why;
        this.remedy = remedy;
        this.source = source;
    }

    /** Stable code, such as {@code EP-NIC-001}. */
    public String code() {
        return code;
    }

    /** What is so when all is well. */
    public String title() {
        return title;
    }

    /** What the check looks at. */
    public String looksAt() {
        return looksAt;
    }

    /** What goes wrong otherwise. */
    public String why() {
        return why;
    }

    /** What to do. */
    public String remedy() {
        return remedy;
    }

    /** Where the failure was seen or the fact is written. */
    public String source() {
        return source;
    }

    Check pass(String detail) {
        return Check.pass(code, detail);
    }

    Check warn(String detail) {
        return Check.warn(code, detail, remedy);
    }

    Check warn(String detail, String what) {
        return Check.warn(code, detail, what);
    }

    Check fail(String detail) {
        return Check.fail(code, detail, remedy);
    }

    /** The machine lacks what the check looks at. */
    Check notApplicable(String reason) {
        return new Check(code, Check.Status.NOT_RUN, "not applicable here: " + reason, "");
    }

    /** Somebody can make the check possible. */
    Check notRun(String reason, String what) {
        return new Check(code, Check.Status.NOT_RUN, reason, what);
    }

    @Override
    public String toString() {
        return code + " " + title.toLowerCase(Locale.ROOT);
    }
}
