package org.ep4j.doctor;

import java.util.Locale;
import org.ep4j.spi.Check;

/**
 * Every check that the doctor runs. Codes are stable and never reused; {@code docs/reference/doctor.md} is generated
 * from here.
 *
 * <p>A check that could not run is {@link Check.Status#NOT_RUN}, with a remedy that makes it run (for example, as
 * root). If the machine lacks what the check examines, it is {@link Check.Status#NOT_APPLICABLE}, without a remedy.
 */
public enum DoctorCode {
    SETTINGS(
            "EP-CFG-001",
            "Settings can be read",
            "every ep.* setting of this process, the environment variables that are read where a setting is absent, and"
                    + " the names of all variables that begin with EP_",
            "a wrong value is refused when a group is joined, on all ranks at the same time; a variable whose name is"
                    + " misspelt is ignored (WARN)",
            "correct the value or the name that the detail names",
            "ep4j itself"),
    MACHINE_READ(
            "EP-TOPO-001",
            "The hardware topology was read without warnings",
            "warnings of the topology reader",
            "the planner relies on this topology; for parts that could not be read it uses assumed values, which may be"
                    + " wrong",
            "check the output of ./ep topo; if it is wrong, set ep.nic.map by hand",
            "ep4j itself"),
    GPU_LINKS(
            "EP-GPU-001",
            "All GPUs have their links",
            "links of every GPU to other GPUs and to switches",
            "if the links of a GPU are down, peers reach it over PCIe, and NCCL reports nothing; every step waits for this"
                    + " GPU",
            "check the output of nvidia-smi nvlink -s or rocm-smi --showtopo, restart the fabric manager, then reset the GPUs",
            "seen in topology dumps of GB300 machines, where one GPU had no NVLink"),
    IMEX_CHANNELS(
            "EP-GPU-002",
            "An NVLink domain of several hosts has IMEX channels",
            "/dev/nvidia-caps-imex-channels, if a GPU belongs to an NVLink domain of several hosts",
            "without a channel, memory handles cannot be exported to other hosts, and NVLink stays inside the host",
            "start nvidia-imex on all hosts of the domain and give the container a channel",
            "NVIDIA IMEX guide; NCCL mnnvl.cc"),
    ONE_NIC_FOR_ALL(
            "EP-NIC-001",
            "GPUs do not all use one NIC",
            "the NICs that are assigned to the GPUs of this host, and NVSHMEM_ENABLE_NIC_PE_MAPPING",
            "the GPUs share the bandwidth of one NIC: in a reported case all eight GPUs used mlx5_0, and got 6.5 GB/s"
                    + " instead of 36 to 80",
            "let ep4j assign NICs (leave ep.nic.map empty), or give every GPU its own NIC in ep.nic.map",
            "deepseek-ai/DeepEP issue 336, pull request 466"),
    NIC_SHARED_WHILE_ANOTHER_IDLES(
            "EP-NIC-002",
            "No two GPUs share a NIC while an equally near NIC is idle",
            "the NICs that are assigned to the GPUs of this host, and which other NICs are at least as near to these GPUs",
            "only half of the bandwidth is used; for example, on machines with two GPUs and two NICs on each switch, both"
                    + " GPUs used the first NIC",
            "let ep4j assign NICs (leave ep.nic.map empty), or give every GPU its own NIC in ep.nic.map",
            "deepseek-ai/DeepEP pull request 466, llm-d/llm-d pull request 397"),
    NIC_FAR(
            "EP-NIC-003",
            "NICs are near enough for GPUDirect",
            "path type between every GPU and its NICs: at most PXB, or P2C on machines with chip-to-chip links",
            "on longer paths, bytes pass through the CPU or the link between NUMA nodes; in one measurement, adding a"
                    + " second NIC far from the GPU lowered the rate from 38.7 to 13.8 GB/s",
            "choose nearer NICs in ep.nic.map; in a virtual machine, let the hypervisor expose the PCI topology",
            "NCCL graph/paths.cc (ncclTopoCheckGdr); MSCCL++ low-latency history, phase 9"),
    PORT_DOWN(
            "EP-NIC-004",
            "Ports are active",
            "state of every port of the NICs that carry traffic",
            "a rank whose NIC is down cannot join, or the plan moves the rank's traffic to NICs of other ranks",
            "check the cable and the switch, and the output of ibstat or rdma link",
            "deepseek-ai/DeepEP issues 17, 38, 55"),
    PORT_RATES(
            "EP-NIC-005",
            "All ports have the same rate",
            "rate of every active port of the NICs that carry traffic",
            "an exchange takes as long as its slowest rank; a port that came up with fewer lanes slows down all ranks",
            "check the cable, the switch's port and the output of mlxlink; exclude slower NICs with ep.nic.exclude",
            "deepseek-ai/DeepEP issue 82"),
    NIC_NAMES(
            "EP-NIC-006",
            "Lists of NICs name only NICs that exist",
            "the lists in ep.nic.*, NCCL_IB_HCA, NVSHMEM_HCA_LIST, NVSHMEM_HCA_PE_MAPPING and UCCL_IB_HCA",
            "NIC names change when udev renames or renumbers NICs; with a list that matched no NIC, libraries found no"
                    + " NIC or hung",
            "correct the list that the detail names",
            "deepseek-ai/DeepEP issue 386"),
    NIC_FAMILY(
            "EP-NIC-007",
            "NICs are of families that ep4j knows",
            "kernel driver and PCI vendor of every NIC",
            "a missing feature of a NIC is noticed only when it is used: software iWARP has no atomics, Slingshot has"
                    + " no writes with immediate data, and software RDMA in the kernel cannot reach GPU memory",
            "the detail names what the NIC cannot do and which paths remain; use software NICs for tests only",
            "uccl-project/uccl issue 956; deepseek-ai/DeepEP issue 759"),
    PORT_MTUS(
            "EP-NIC-008",
            "All RoCE ports have the same MTU",
            "MTU of the network interface of every active RoCE port of the NICs that carry traffic",
            "a connection uses the smaller MTU of its two ends: an interface MTU of 1500 allows 1024 bytes of data per"
                    + " packet, one of 4200 allows 4096; smaller packets lower the rate, and an exchange takes as long"
                    + " as its slowest rank",
            "run ip link set INTERFACE mtu 4200 (or more, if the switches allow it) on the ports for which the detail"
                    + " gives the smallest MTU",
            "iboe_get_mtu in Linux include/rdma/ib_addr.h"),
    NIC_NETWORKS(
            "EP-NIC-009",
            "The NICs of all GPUs can reach each other",
            "networks of the ports that are assigned to the GPUs of this host, and the routes between them",
            "two GPUs on different hosts reach each other through their own NICs only if the ports of these NICs are in one"
                    + " network, or routers join their networks; otherwise the pair uses a port farther from one of the"
                    + " two GPUs, or fails to connect",
            "add routes between the networks (in the fabric, and on the hosts with ip route or rules by source"
                    + " address), or put all ports into one network",
            "ROCm/rccl issue 1303; NVIDIA/nccl issue 1348"),
    GID_INDEX(
            "EP-GID-001",
            "A usable GID is chosen",
            "the GID table of every active port, and ep.nic.gid-index",
            "with a link-local, RoCE v1 or empty entry, connecting fails, or work requests fail with status 12"
                    + " (IBV_WC_RETRY_EXC_ERR)",
            "leave ep.nic.gid-index at -1, or set it to the index that the detail names; give the interface an IPv4"
                    + " address",
            "uccl-project/uccl issue 799; NCCL net_ib/connect.cc"),
    IPV6_ONLY(
            "EP-GID-002",
            "RoCE ports have IPv4 addresses",
            "address families in the GID tables of RoCE ports",
            "software that looks for IPv4 falls back to entry 0, which is link-local, and every transfer fails",
            "nothing to do for ep4j, which uses the first RoCE v2 entry; for NCCL set NCCL_IB_ADDR_FAMILY=AF_INET6",
            "uccl-project/uccl pull request 803 (bnxt_re with IPv6 only)"),
    GPU_MEMORY_REGISTRATION(
            "EP-GDR-001",
            "NICs can reach GPU memory",
            "for NVIDIA GPUs nvidia_peermem, or the open kernel modules and Linux 5.12 for dma-buf; for AMD GPUs the"
                    + " peer interface of amdgpu, or the kernel's dma-buf options",
            "libraries fail with \"cannot allocate buffer on the specified memory type\"; ep4j stages every byte in"
                    + " host memory",
            "modprobe nvidia_peermem, or use the open kernel modules on Linux 5.12 or newer for dma-buf",
            "deepseek-ai/DeepEP issues 17, 55, 367; NCCL net_ib/gdr.cc"),
    GDRCOPY(
            "EP-GDR-002",
            "gdrdrv is loaded if NVSHMEM needs it",
            "/dev/gdrdrv and the version of NVSHMEM",
            "before 3.4.5, NVSHMEM needs gdrcopy to post through the CPU",
            "load gdrdrv, or use NVSHMEM 3.4.5 or newer",
            "NVSHMEM release notes 3.4.5"),
    LARGE_REGISTRATIONS(
            "EP-GDR-003",
            "Large GPU buffers can be registered",
            "Intel NICs (irdma) together with an IOMMU that translates",
            "registering more than 2 GiB as dma-buf fails with ENOMEM",
            "set iommu=pt on the kernel's command line",
            "uccl-project/uccl ep/src/rdma.cpp (reg_mr_gpu_dmabuf_chunked)"),
    PEER_MAPPING(
            "EP-IBGDA-001",
            "GPUs can ring the NIC's doorbell",
            "PeerMappingOverride in /proc/driver/nvidia/params, and NVSHMEM_IBGDA_NIC_HANDLER",
            "mapping the doorbell into the GPU fails (cudaHostRegister, error 800), and the CPU has to ring it",
            "set NVreg_RegistryDwords=\"PeerMappingOverride=1;\" for the module nvidia, rebuild the initramfs, reboot",
            "deepseek-ai/DeepEP issue 163; NVIDIA/nvshmem issue 23"),
    NIC_HANDLER(
            "EP-IBGDA-002",
            "The chosen NIC handler works here",
            "NVSHMEM_IBGDA_NIC_HANDLER, PeerMappingOverride, gdrdrv and the version of NVSHMEM",
            "before NVSHMEM 3.4.5 the CPU can be the handler only with gdrcopy; without gdrcopy, devices are skipped"
                    + " and the job has no transport. Kernels that ring the doorbell themselves, such as DeepEP's,"
                    + " hang in all versions if the CPU is the handler",
            "make the GPU the handler (see EP-IBGDA-001), or use NVSHMEM 3.4.5 or newer and ep4j's own kernels",
            "deepseek-ai/DeepEP issues 163, 509; NVSHMEM release notes 3.4.5"),
    IBGDA_NICS(
            "EP-IBGDA-003",
            "If IBGDA is enabled, NICs support posting from the GPU",
            "NVSHMEM_IB_ENABLE_IBGDA, and the families of the NICs",
            "the message \"Unable to dlopen libmlx5dv\" looks harmless, but the job fails later, because GPUs can post to"
                    + " mlx5 NICs only",
            "use nvshmem-ibgda with NVIDIA NICs only; on this machine use ibrc-multiqp or efa",
            "deepseek-ai/DeepEP issue 759"),
    REMOTE_TRANSPORT(
            "EP-IBGDA-004",
            "NVSHMEM_REMOTE_TRANSPORT has a value that NVSHMEM knows",
            "NVSHMEM_REMOTE_TRANSPORT",
            "if NVSHMEM does not know the name, it skips every transport without a message; ibgda is such a name",
            "use ibrc, ucx, libfabric, ibdevx, gpunetio or none; to turn IBGDA on, set NVSHMEM_IB_ENABLE_IBGDA=1",
            "NVSHMEM src/host/transport/transport.cpp"),
    PCIE_ATOMICS(
            "EP-PCI-001",
            "PCIe atomics are available where they are needed",
            "flags of KFD's links between GPU and CPU; AtomicOp bits in the PCI configuration of Broadcom NICs and"
                    + " GPUs",
            "if a PCIe slot does not forward atomic operations, kernels that wait for the result of such an operation never end",
            "use a slot that routes AtomicOps, or enable them in the firmware; ibrc-multiqp needs no atomics from a NIC"
                    + " unless ep.ibrc.counters=atomic",
            "ROCm/mori issue 374; Linux kfd_crat.h; PCI Express base specification, Device Capabilities 2"),
    IOMMU(
            "EP-PCI-002",
            "The IOMMU does not translate between devices",
            "/sys/class/iommu, the types of the IOMMU groups of GPUs and NICs, /proc/cmdline",
            "with translation, traffic between GPU and NIC goes through the CPU: it is slow, or it fails",
            "boot with iommu=pt, or turn the IOMMU off if nothing needs it",
            "NCCL user guide, troubleshooting, GPU Direct"),
    ACS(
            "EP-PCI-003",
            "ACS does not redirect peer-to-peer traffic",
            "ACS control of the PCI bridges above GPUs and NICs",
            "if ACS makes a switch redirect peer-to-peer requests, traffic between GPU and NIC goes up to the root"
                    + " complex, at a fraction of the bandwidth",
            "turn ACS off: setpci -s BRIDGE ECAP_ACS+0x6.w=0000 after every boot, or in the firmware",
            "NCCL user guide, troubleshooting, PCI Access Control Services"),
    NVSHMEM_VERSION(
            "EP-LIB-001",
            "NVSHMEM has a version that is known to work",
            "the versions of NVSHMEM that are found",
            "NVSHMEM 3.5 changed the layout of its queue pairs, so kernels that index them themselves, such as"
                    + " DeepEP's, wait for ever. NVSHMEM before 3.3.9 has only one queue pair for each peer",
            "use 3.3.9 to 3.4.x with software that reads NVSHMEM's structures; ep4j does not read them",
            "deepseek-ai/DeepEP issues 707, 764, pull request 564; NVSHMEM release notes"),
    HIPRTC_VERSION(
            "EP-LIB-002",
            "HIPRTC knows the architecture of the GPUs",
            "the versions of HIPRTC that are found, and the architectures of the GPUs",
            "if HIPRTC does not know an architecture, it ends the process that called it, instead of returning an"
                    + " error; if ep4j is not sure that HIPRTC knows the architecture, ep4j runs HIPRTC in a separate"
                    + " process (EP-HIP-004)",
            "install a ROCm version that knows the GPU, and no older version beside it",
            "measured with HIPRTC 5.2.3, 5.7.1 and 6.4.3"),
    NVRTC_VERSION(
            "EP-LIB-003",
            "NVRTC knows the architecture of the GPUs",
            "the versions of NVRTC that are found, and the architectures of the GPUs",
            "for a GPU that NVRTC does not know, ep4j compiles PTX for an older architecture, and the driver"
                    + " JIT-compiles this PTX; kernels that are linked with NVSHMEM cannot be compiled for such a GPU",
            "install an NVRTC version that knows the architecture of the GPUs",
            "measured with NVRTC 11.8, 12.9, 13.0 and 13.3"),
    MLX5_VERSION(
            "EP-LIB-004",
            "libmlx5 is new enough",
            "the version of libmlx5 in its file name",
            "libmlx5 before 1.25 lacks functions that NCCL and NVSHMEM call for posting from the GPU; NCCL then"
                    + " reports that it has no GPU-initiated networking (NCCL_GIN_TYPE_NONE), even if all ranks are on one host",
            "install rdma-core 50 or newer, or a newer OFED",
            "deepseek-ai/DeepEP issue 628"),
    TWO_VERSIONS(
            "EP-LIB-005",
            "No library is installed in two versions",
            "the loader's folders, LD_LIBRARY_PATH, CUDA, ROCm and Python packages",
            "which version a process gets depends on what is loaded first; undefined symbols and wrong versions follow",
            "remove one version, or put the right one first in LD_LIBRARY_PATH for every process of the job",
            "deepseek-ai/DeepEP issues 481, 429; aws-samples/awsome-distributed-training pull request 1215"),
    VERBS_DRIVERS(
            "EP-LIB-006",
            "Every NIC has its user-space driver",
            "libibverbs, and the user-space drivers of the NICs of this machine",
            "a NIC whose user-space driver is missing, or has another version than the kernel driver, is not listed at all (0"
                    + " devices)",
            "install the package that contains the driver (ibverbs-providers, rdma-core or the vendor's), in the"
                    + " version of the kernel driver",
            "ROCm/mori issue 374 (bnxt_re)"),
    LOCKED_MEMORY(
            "EP-MEM-001",
            "The limit on locked memory is high enough",
            "Max locked memory in /proc/self/limits, and the capability IPC_LOCK",
            "registering memory with a NIC fails with ENOMEM",
            "ulimit -l unlimited; in containers --ulimit memlock=-1; for services LimitMEMLOCK=infinity",
            "ib_umem_get in Linux; siw obeys the limit even for root (measured)"),
    SHARED_MEMORY(
            "EP-MEM-002",
            "/dev/shm is large enough",
            "free bytes and inodes of the folder in which ranks share memory (/dev/shm, or ep.shm.dir; in a recording,"
                    + " the size of /dev/shm), compared with the buffers of all ranks of this host for the shape of"
                    + " ./ep demo",
            "/dev/shm of a container has 64 MiB by default; a buffer that does not fit is refused, or kills the process if its size"
                    + " is not checked",
            "docker run --shm-size or --ipc=host; in Kubernetes an emptyDir with medium Memory at /dev/shm; if inodes"
                    + " run out, remove files that earlier jobs left in the folder, or, as root, run: mount -o"
                    + " remount,nr_inodes=1m FOLDER; or set ep.shm.dir to a folder with more room",
            "Docker documentation of --shm-size"),
    HUGE_PAGES(
            "EP-MEM-003",
            "Huge pages can be used",
            "/sys/kernel/mm/transparent_hugepage and /sys/kernel/mm/hugepages",
            "memory registered in 4 KiB pages needs 512 times as many entries in the NIC's address translation table as"
                    + " in 2 MiB pages, so the NIC's translation cache misses more often",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or reserve pages of 2 MiB (EFA asks for them)",
            "libfabric fi_efa(7), FI_EFA_USE_HUGE_PAGE"),
    NCCL_LAZY_CONNECT(
            "EP-NCCL-001",
            "NCCL does not connect lazily while ep4j uses RDMA",
            "versions of NCCL, NCCL_RUNTIME_CONNECT, and the families and ports of the NICs",
            "in one measurement the rate fell from 59 to 37 GB/s with NCCL 2.22, the first version that connects on"
                    + " first use",
            "on all ranks, set the variables that the remedy of the report names (at least NCCL_RUNTIME_CONNECT=0)",
            "Infrawaves/DeepEP_ibrc_dual-ports_multiQP README and issue 4"),
    TRAFFIC_CLASSES(
            "EP-NET-001",
            "Traffic of ep4j and traffic of NCCL are separated",
            "ep.nic.service-level and ep.nic.traffic-class, compared with NCCL_IB_SL and NCCL_IB_TC",
            "exchanges and all-reduces on one virtual lane wait for each other; the latency of decoding then depends"
                    + " on the bulk traffic",
            "give ep4j its own service level (InfiniBand) or traffic class (RoCE); ask the fabric's administrator"
                    + " which value to use",
            "deepseek-ai/DeepEP README, traffic isolation"),
    ADAPTIVE_ROUTING(
            "EP-NET-002",
            "Adaptive routing suits the load",
            "nothing: the subnet manager and the switches decide, and a host cannot ask them",
            "static routes collide under heavy load (30 or 14 GB/s instead of 45); adaptive routes add latency under light load",
            "under heavy load, turn adaptive routing on for ep4j's service level; this is safe, because ep4j polls"
                    + " only counters, which advance after all bytes of a write have arrived, and never the bytes"
                    + " themselves",
            "deepseek-ai/DeepEP README, adaptive routing, and commit 458cdcb");

    private final String code;
    private final String title;
    private final String examines;
    private final String why;
    private final String remedy;
    private final String source;

    DoctorCode(String code, String title, String examines, String why, String remedy, String source) {
        this.code = code;
        this.title = title;
        this.examines = examines;
        this.why = why;
        this.remedy = remedy;
        this.source = source;
    }

    /** Stable code, such as {@code EP-NIC-001}. */
    public String code() {
        return code;
    }

    /** Condition that is true if the check passes. */
    public String title() {
        return title;
    }

    /** Facts that the check examines. */
    public String examines() {
        return examines;
    }

    /** Consequence when the check does not pass. */
    public String why() {
        return why;
    }

    /** Steps that repair the condition. */
    public String remedy() {
        return remedy;
    }

    /** Issue, document or measurement behind the check. */
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

    /** Result for a machine that lacks what the check examines. */
    Check notApplicable(String reason) {
        return Check.notApplicable(code, reason, "");
    }

    /** Result of a check that did not run, with what makes it run. */
    Check notRun(String reason, String what) {
        return Check.notRun(code, reason, what);
    }

    @Override
    public String toString() {
        return code + " " + title.toLowerCase(Locale.ROOT);
    }
}
