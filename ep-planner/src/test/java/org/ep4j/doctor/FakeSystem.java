package org.ep4j.doctor;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;

/** A machine for the doctor: files in a folder and a topology, healthy until a test spoils something. */
final class FakeSystem {
    static final Gid LINK_LOCAL = new Gid(0, "fe80:0000:0000:0000:0a00:27ff:fe00:0001", "RoCE v2", "eth0");
    static final Gid ROCE_V1 = new Gid(1, "0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1", "eth0");
    static final Gid ROCE_V2 = new Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "eth0");
    static final Gid ROUTED_IPV6 = new Gid(2, "fd00:0000:0000:0000:0000:0000:0000:0001", "RoCE v2", "eth0");
    static final Gid INFINIBAND = new Gid(0, "fe80:0000:0000:0000:a088:c203:00aa:bbcc", "IB/RoCE v1", "");

    final Map<String, String> environment = new HashMap<>();
    final Map<String, String> settings = new HashMap<>();
    Optional<DoctorInput.Room> room = Optional.empty();
    final Map<Integer, List<String>> nics = new HashMap<>();
    private final Path root;
    private final Topology.Builder machine = Topology.builder("fake");
    private final List<PciSwitch> switches = new ArrayList<>();
    private final NumaNode numa = new NumaNode(0, 0, Processor.UNKNOWN);
    private final GpuSwitch gpuSwitch = new GpuSwitch(0, "NVSwitch");
    private boolean switched;

    private FakeSystem(Path root) {
        this.root = root;
        machine.host("fake");
        machine.add(numa);
    }

    /** Nothing but an operating system, as on a machine without GPUs and RDMA. */
    static FakeSystem plain(Path root) {
        FakeSystem system = new FakeSystem(root);
        system.file("/proc/sys/kernel/osrelease", "6.8.0-45-generic");
        system.file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet");
        system.file("/proc/self/limits", limits("unlimited"));
        system.file("/proc/self/status", "Name:\tjava\nCapEff:\t0000000000000000\n");
        system.file("/proc/meminfo", "MemTotal:       2113929216 kB\nMemFree:        1000000000 kB");
        system.file("/proc/mounts", "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0");
        system.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        system.file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
        return system;
    }

    /** Eight GPUs on NVSwitch, each with an InfiniBand NIC on its switch, all that can be wrong being right. */
    static FakeSystem nvidia(Path root) {
        FakeSystem system = plain(root);
        for (int i = 0; i < 8; i++) {
            system.gpu(i, GpuVendor.NVIDIA, "sm_90", "");
            system.nic(i, "mlx5_" + i, NicFamily.MLX5, port(NicPort.State.ACTIVE, 400, INFINIBAND));
            system.nics.put(i, List.of("mlx5_" + i + ":1"));
        }
        system.file("/sys/module/nvidia_peermem/version", "550.90");
        system.file("/proc/driver/nvidia/params", "EnableStreamMemOPs: 1\nRegistryDwords: \"PeerMappingOverride=1;\"");
        system.file("/usr/lib/x86_64-linux-gnu/libnvshmem_host.so.3.4.5", "");
        system.file("/usr/lib/x86_64-linux-gnu/libnvrtc.so.12.9.86", "");
        system.file("/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.3", "");
        system.file("/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.50.0", "");
        system.file("/usr/lib/x86_64-linux-gnu/libmlx5.so.1.25.50.0", "");
        system.environment.put("NCCL_RUNTIME_CONNECT", "0");
        system.settings.put("ep.nic.service-level", "1");
        return system;
    }

    /** Eight GPUs joined by xGMI, each with a RoCE NIC. */
    static FakeSystem amd(Path root, String architecture, NicFamily family) {
        FakeSystem system = plain(root);
        for (int i = 0; i < 8; i++) {
            system.gpu(i, GpuVendor.AMD, architecture, "");
            system.nic(i, "rdma" + i, family, port(NicPort.State.ACTIVE, 400, LINK_LOCAL, ROCE_V1, ROCE_V2));
            system.nics.put(i, List.of("rdma" + i + ":1"));
        }
        system.file("/sys/kernel/mm/memory_peers/amdkfd/version", "1.0");
        system.file("/opt/rocm-6.4.3/lib/libhiprtc.so.6.4.60403", "");
        return system;
    }

    /** A RoCE port whose table of GIDs was read, and has no entry. */
    static NicPort withEmptyTable() {
        return new NicPort(
                1, NicPort.State.ACTIVE, NicReach.LinkLayer.ETHERNET, 400, 4096, 0, "eth0", List.of(), true, "");
    }

    static NicPort port(NicPort.State state, double rate, Gid... gids) {
        boolean infiniBand = gids.length > 0 && gids[0].equals(INFINIBAND);
        return new NicPort(
                1,
                state,
                infiniBand ? NicReach.LinkLayer.INFINIBAND : NicReach.LinkLayer.ETHERNET,
                rate,
                4096,
                infiniBand ? 7 : 0,
                infiniBand ? "" : "eth0",
                List.of(gids));
    }

    /** A GPU on the switch with this number, joined to NVSwitch when it is NVIDIA's. */
    FakeSystem gpu(int number, GpuVendor vendor, String architecture, String clique) {
        return linkedGpu(number, vendor, architecture, clique, 18);
    }

    /** A GPU on the switch with this number, joined to NVSwitch by so many links when it is NVIDIA's. */
    FakeSystem linkedGpu(int number, GpuVendor vendor, String architecture, String clique, int links) {
        Gpu gpu = lonelyGpu(number, vendor, architecture, clique);
        if (vendor == GpuVendor.NVIDIA) {
            if (!switched) {
                machine.add(gpuSwitch);
                switched = true;
            }
            machine.link(gpu, gpuSwitch, new Link(LinkType.NVLINK, 20.6 * links, links));
        }
        return this;
    }

    /** A GPU without GPU links on the switch with its number. */
    Gpu lonelyGpu(int number, GpuVendor vendor, String architecture, String clique) {
        return gpuOn(number, number, vendor, architecture, clique);
    }

    /** A GPU without GPU links on a switch. */
    Gpu gpuOn(int place, int number, GpuVendor vendor, String architecture, String clique) {
        Gpu gpu = Gpu.builder(0, number, vendor)
                .address(Optional.of(gpuAddress(number)))
                .architecture(architecture)
                .numa(0)
                .clique(clique)
                .build();
        machine.add(gpu).link(pciSwitch(place), gpu, new Link(LinkType.PCI, 48, 1));
        return gpu;
    }

    static PciAddress gpuAddress(int number) {
        return new PciAddress(0, 0x10 + number, 0, 0);
    }

    static PciAddress nicAddress(String name) {
        return new PciAddress(1, Math.floorMod(name.hashCode(), 200), 0, 0);
    }

    /** A NIC on the switch with this number. */
    FakeSystem nic(int number, String name, NicFamily family, NicPort... ports) {
        return nic(number, name, family, PciId.UNKNOWN, ports);
    }

    /** A NIC of known PCI ids on the switch with this number. */
    FakeSystem nic(int number, String name, NicFamily family, PciId id, NicPort... ports) {
        Nic nic = new Nic(
                0,
                name,
                Optional.of(nicAddress(name)),
                id,
                family,
                "",
                name,
                0,
                Optional.empty(),
                true,
                List.of(ports));
        machine.add(nic).link(pciSwitch(number), nic, new Link(LinkType.PCI, 48, 1));
        return this;
    }

    /** A NIC on the processor, behind no switch. */
    FakeSystem farNic(String name, NicFamily family, NicPort... ports) {
        Nic nic = new Nic(
                0,
                name,
                Optional.of(nicAddress(name)),
                PciId.UNKNOWN,
                family,
                "",
                name,
                0,
                Optional.empty(),
                true,
                List.of(ports));
        machine.add(nic).link(numa, nic, new Link(LinkType.PCI, 48, 1));
        return this;
    }

    private PciSwitch pciSwitch(int number) {
        while (switches.size() <= number) {
            PciSwitch added = new PciSwitch(0, new PciAddress(2, switches.size(), 0, 0), PciId.UNKNOWN);
            machine.add(added).link(numa, added, new Link(LinkType.PCI, 48, 1));
            switches.add(added);
        }
        return switches.get(number);
    }

    FakeSystem warn(String warning) {
        machine.warn(warning);
        return this;
    }

    FakeSystem file(String path, String text) {
        return file(path, text.getBytes(StandardCharsets.ISO_8859_1));
    }

    FakeSystem file(String path, byte[] bytes) {
        try {
            Path file = root.resolve(path.substring(1));
            Files.createDirectories(file.getParent());
            Files.write(file, bytes);
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    FakeSystem link(String path, String target) {
        try {
            Path link = root.resolve(path.substring(1));
            Files.createDirectories(link.getParent());
            Files.createSymbolicLink(link, Path.of(target));
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    FakeSystem remove(String path) {
        try {
            Files.delete(root.resolve(path.substring(1)));
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String limits(String locked) {
        return "Limit                     Soft Limit           Hard Limit           Units\n"
                + "Max open files            1024                 1048576              files\n"
                + "Max locked memory         " + locked + "             " + locked + "             bytes";
    }

    DoctorInput input() {
        FileTree files = FileTree.of(root);
        return new DoctorInput(
                machine.build(),
                files,
                environment,
                EpConfig.builder(settings, environment).build(),
                nics,
                FoundLibrary.search(files, environment),
                new Need(8, 1L << 30),
                room,
                EpKeys.all(),
                Optional.empty());
    }

    List<Check> examine() {
        return Doctor.examine(input());
    }

    Check check(DoctorCode code) {
        return examine().stream()
                .filter(check -> check.code().equals(code.code()))
                .findFirst()
                .orElseThrow();
    }
}
