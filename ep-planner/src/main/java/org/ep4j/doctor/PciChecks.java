package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.KfdNode;

/** Checks of what is between devices on PCIe: atomics, IOMMU, ACS. */
final class PciChecks implements Examination {
    /** Device Capabilities 2: completes atomics of 64 bits. */
    private static final int COMPLETES_64 = 1 << 8;
    /** Device Control 2: may request atomics. */
    private static final int MAY_REQUEST = 1 << 6;
    /** ACS control: redirect peer requests and completions, forward upstream. */
    private static final int REDIRECTS = 0x4 | 0x8 | 0x10;

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(atomics(input), iommu(input), acs(input));
    }

    private static Check atomics(DoctorInput input) {
        List<Nic> nics = input.rdmaNics().stream()
                .filter(nic -> nic.family() == NicFamily.BNXT)
                .toList();
        List<Gpu> gpus = input.gpus(GpuVendor.AMD);
        if (nics.isEmpty() && gpus.isEmpty()) {
            return DoctorCode.PCIE_ATOMICS.notApplicable(
                    "neither AMD GPU nor Broadcom NIC: nothing needs PCIe atomics");
        }
        List<String> missing = new ArrayList<>(gpus.isEmpty() ? List.of() : withoutAtomics(input.files()));
        List<String> unread = new ArrayList<>();
        for (Nic nic : nics) {
            Optional<Integer> control = nic.address()
                    .flatMap(address -> PciConfig.of(input.files(), address))
                    .flatMap(PciConfig::deviceControl2);
            if (control.isEmpty()) {
                unread.add(nic.name());
            } else if ((control.get() & MAY_REQUEST) == 0) {
                missing.add(nic.name() + " may not request atomics");
            }
        }
        for (Gpu gpu : nics.isEmpty() ? List.<Gpu>of() : input.topology().gpus()) {
            gpu.address()
                    .flatMap(address -> PciConfig.of(input.files(), address))
                    .flatMap(PciConfig::deviceCapabilities2)
                    .filter(capabilities -> (capabilities & COMPLETES_64) == 0)
                    .ifPresent(capabilities -> missing.add(gpu.name() + " does not complete atomics of 64 bits"));
        }
        if (!missing.isEmpty()) {
            return DoctorCode.PCIE_ATOMICS.warn(String.join("; ", missing));
        }
        return unread.isEmpty()
                ? DoctorCode.PCIE_ATOMICS.pass("nothing lacks them")
                : DoctorCode.PCIE_ATOMICS.notRun(
                        "PCI configuration of " + String.join(", ", unread) + " cannot be read", "run doctor as root");
    }

    /** Direct links from a GPU to a processor that do not carry atomics of 64 bits. */
    private static List<String> withoutAtomics(FileTree files) {
        Map<Integer, KfdNode> nodes = KfdNode.readAll(files);
        Predicate<KfdNode.Link> toProcessor = link -> Optional.ofNullable(nodes.get(link.to()))
                .filter(to -> !to.gpu())
                .isPresent();
        return nodes.values().stream()
                .filter(KfdNode::gpu)
                .flatMap(node -> node.links().stream()
                        .filter(toProcessor.and(link -> link.direct() && !link.atomics64()))
                        .map(link -> "KFD node " + node.number() + " has no atomics of 64 bits to node " + link.to()))
                .toList();
    }

    private static Check iommu(DoctorInput input) {
        if (Iommu.devices(input).isEmpty()) {
            return DoctorCode.IOMMU.notApplicable("neither GPU nor NIC with RDMA");
        }
        Iommu iommu = Iommu.of(input);
        if (!iommu.translating().isEmpty()) {
            return DoctorCode.IOMMU.warn("translates for " + String.join(", ", iommu.translating()));
        }
        if (!iommu.unknown().isEmpty()) {
            return DoctorCode.IOMMU.warn("IOMMU on (" + String.join(", ", iommu.units())
                    + "), no iommu=pt in /proc/cmdline; the kernel"
                    + " does not report whether the IOMMU translates for " + String.join(", ", iommu.unknown()));
        }
        return DoctorCode.IOMMU.pass(iommu.units().isEmpty() ? "no IOMMU is on" : "on, and passes through");
    }

    private static Check acs(DoctorInput input) {
        Set<String> bridges = bridges(input);
        if (bridges.isEmpty()) {
            return DoctorCode.ACS.notApplicable("no PCI bridge above a GPU or a NIC with RDMA");
        }
        List<String> redirecting = new ArrayList<>();
        List<String> unread = new ArrayList<>();
        for (String bridge : bridges) {
            Optional<PciConfig> config = PciConfig.of(input.files(), bridge).filter(PciConfig::whole);
            if (config.isEmpty()) {
                unread.add(bridge);
            } else if (config.flatMap(PciConfig::acsControl)
                    .filter(control -> (control & REDIRECTS) != 0)
                    .isPresent()) {
                redirecting.add(bridge);
            }
        }
        if (!redirecting.isEmpty()) {
            return DoctorCode.ACS.warn("redirects at " + String.join(", ", redirecting));
        }
        return unread.isEmpty()
                ? DoctorCode.ACS.pass("no redirection at " + bridges.size() + " bridges")
                : DoctorCode.ACS.notRun(
                        "configuration of " + unread.size() + " of " + bridges.size() + " bridges cannot be read",
                        "run doctor as root");
    }

    /**
     * Addresses of bridges whose ACS redirection lengthens the way between GPUs and NICs, in the order of the devices below
     * them. A root port with a switch below it is none when GPU and NIC are both below that switch: what they send each
     * other turns round in the switch.
     */
    private static Set<String> bridges(DoctorInput input) {
        Set<String> aroundGpus = new HashSet<>();
        Set<String> aroundNics = new HashSet<>();
        Set<String> bridges = new LinkedHashSet<>();
        for (Gpu gpu : input.topology().gpus()) {
            List<String> above = above(input, gpu.address());
            aroundGpus.addAll(belowSwitch(above));
            bridges.addAll(above);
        }
        for (Nic nic : input.rdmaNics()) {
            List<String> above = above(input, nic.address());
            aroundNics.addAll(belowSwitch(above));
            bridges.addAll(above);
        }
        aroundGpus.retainAll(aroundNics);
        bridges.removeAll(aroundGpus);
        return bridges;
    }

    /** The root port of a device that is below a switch: root port, upstream and downstream port of the switch. */
    private static List<String> belowSwitch(List<String> above) {
        return above.size() >= 3 ? above.subList(0, 1) : List.of();
    }

    /** Bridges on the way from the root to a function. */
    private static List<String> above(DoctorInput input, Optional<PciAddress> address) {
        String path = address.flatMap(at -> input.files().real("/sys/bus/pci/devices/" + at))
                .orElse("");
        List<String> functions = Arrays.stream(path.split("/", -1))
                .filter(part -> PciAddress.parse(part).isPresent())
                .toList();
        return functions.isEmpty() ? List.of() : functions.subList(0, functions.size() - 1);
    }

    /**
     * The configuration space of a PCI function, as {@code /sys/bus/pci/devices/ADDRESS/config} holds it. Without the
     * capability SYS_ADMIN the kernel gives 64 bytes only, which hold no capability. Offsets are those of the PCI Express
     * base specification.
     */
    private static final class PciConfig {
        private static final int FIRST_CAPABILITY = 0x34;
        private static final int EXPRESS = 0x10;
        private static final int EXTENDED = 0x100;
        private static final int ACS = 0x0d;

        private final byte[] bytes;

        private PciConfig(byte[] bytes) {
            this.bytes = bytes;
        }

        /** Empty when it cannot be read beyond its first 64 bytes. */
        static Optional<PciConfig> of(FileTree files, Object address) {
            return files.bytes("/sys/bus/pci/devices/" + address + "/config")
                    .filter(bytes -> bytes.length > 64)
                    .map(PciConfig::new);
        }

        Optional<Integer> deviceCapabilities2() {
            return express().map(at -> word32(at + 0x24));
        }

        Optional<Integer> deviceControl2() {
            return express().map(at -> word16(at + 0x28));
        }

        /** ACS control; empty when the function has no such capability or it cannot be read. */
        Optional<Integer> acsControl() {
            int at = EXTENDED;
            for (int hops = 0; at >= EXTENDED && at + 8 <= bytes.length && hops < 1024; hops++) {
                int header = word32(at);
                if ((header & 0xffff) == ACS) {
                    return Optional.of(word16(at + 6));
                }
                at = header >>> 20;
            }
            return Optional.empty();
        }

        /** True when extended capabilities could be read. */
        boolean whole() {
            return bytes.length >= EXTENDED + 4;
        }

        private Optional<Integer> express() {
            int at = bytes[FIRST_CAPABILITY] & 0xfc;
            for (int hops = 0; at >= 0x40 && at + 2 <= bytes.length && hops < 64; hops++) {
                if ((bytes[at] & 0xff) == EXPRESS) {
                    return at + 0x2c <= bytes.length ? Optional.of(at) : Optional.empty();
                }
                at = bytes[at + 1] & 0xfc;
            }
            return Optional.empty();
        }

        private int word16(int at) {
            return (bytes[at] & 0xff) | (bytes[at + 1] & 0xff) << 8;
        }

        private int word32(int at) {
            return word16(at) | word16(at + 2) << 16;
        }
    }

    /** IOMMUs that are on, devices whose addresses they translate, and devices that the kernel does not report. */
    record Iommu(List<String> units, List<String> translating, List<String> unknown) {
        static Iommu of(DoctorInput input) {
            List<String> units = input.files().list("/sys/class/iommu");
            List<String> translating = new ArrayList<>();
            List<String> unknown = new ArrayList<>();
            boolean passThrough = input.files()
                    .text("/proc/cmdline")
                    .orElse("")
                    .matches("(?s)(.*\\s)?iommu(\\.passthrough)?=(pt|1)(\\s.*)?");
            if (!units.isEmpty()) {
                devices(input).forEach((name, address) -> {
                    Optional<String> type = input.files()
                            .real("/sys/bus/pci/devices/" + address + "/iommu_group")
                            .flatMap(group -> input.files().text(group + "/type"));
                    if (type.filter(t -> t.startsWith("DMA")).isPresent()) {
                        translating.add(name + " (" + type.get() + ")");
                    } else if (type.isEmpty() && !passThrough) {
                        unknown.add(name);
                    }
                });
            }
            return new Iommu(units, translating, unknown);
        }

        /** GPUs and NICs with RDMA that have a PCI function, by name. */
        static Map<String, PciAddress> devices(DoctorInput input) {
            Map<String, PciAddress> all = new LinkedHashMap<>();
            for (Gpu gpu : input.topology().gpus()) {
                gpu.address().ifPresent(address -> all.put(gpu.name(), address));
            }
            for (Nic nic : input.rdmaNics()) {
                nic.address().ifPresent(address -> all.put(nic.name(), address));
            }
            return all;
        }
    }
}
