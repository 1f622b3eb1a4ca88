package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpConfig;
import org.ep4j.config.InterfacePattern;
import org.ep4j.topology.model.NicFamilies;

/** Which of the ways that libfabric knows are used, and which of them first. */
final class Providers {
    static final String TCP = "tcp";
    static final String SHM = "shm";

    /**
     * What {@code auto} takes, best first: NICs that do the work themselves, then TCP, which is everywhere. EFA's own protocol
     * goes before efa-direct, for it also connects instances of different generations. Others are taken where they are named:
     * shm reaches one host only, where host-shm is faster; verbs may end the process where a peer is killed, see docs/backends/efa.md;
     * psm3, udp, net and sockets were not tried.
     */
    static final List<String> PREFERRED = List.of("efa", "efa-direct", "cxi", TCP);

    private static final Set<String> SOCKETS = Set.of(TCP, "sockets", "udp", "net");

    private Providers() {}

    /** The network of a provider as people name it. */
    static String title(String provider) {
        return switch (FabricInfo.core(provider)) {
            case TCP -> "TCP";
            case SHM -> "shared memory";
            case "efa", "efa-direct" -> "EFA";
            case "cxi" -> "Slingshot";
            default -> provider;
        };
    }

    /** True for providers that speak through the kernel's network interfaces. */
    static boolean sockets(String provider) {
        return SOCKETS.contains(FabricInfo.core(provider));
    }

    /** True for providers whose bytes processors copy. */
    static boolean software(String provider) {
        return sockets(provider) || FabricInfo.core(provider).equals(SHM);
    }

    /** True for providers that send what goes from one endpoint to another by one stream. */
    static boolean inOrder(String provider) {
        return FabricInfo.core(provider).equals(TCP);
    }

    /** True for providers whose endpoints close safely only where nothing comes in any more: see {@link PartingWire}. */
    static boolean parts(String provider) {
        return provider.equals("verbs;ofi_rxm");
    }

    /** What is used out of what there is: at most one for each provider and NIC, the best provider first. */
    static List<FabricInfo> usable(List<FabricInfo> all, EpConfig config) {
        String wanted = EfaKeys.PROVIDER.get(config).strip();
        boolean auto = wanted.equals(EfaKeys.AUTO);
        Map<String, Map<String, FabricInfo>> found = new LinkedHashMap<>();
        for (FabricInfo info : all) {
            boolean named = info.provider().equals(wanted) || info.core().equals(wanted);
            if (auto ? PREFERRED.contains(info.core()) : named) {
                found.computeIfAbsent(info.provider(), key -> new LinkedHashMap<>())
                        .merge(info.device(), info, Providers::better);
            }
        }
        List<FabricInfo> usable = new ArrayList<>();
        found.entrySet().stream()
                .sorted(Comparator.<Map.Entry<String, ?>>comparingInt(
                                entry -> PREFERRED.indexOf(FabricInfo.core(entry.getKey())))
                        .thenComparing(entry -> entry.getKey().length()))
                .forEach(entry -> {
                    List<String> devices = List.copyOf(entry.getValue().keySet());
                    List<String> taken = sockets(entry.getKey()) ? interfaces(config, devices) : devices;
                    taken.forEach(device -> usable.add(entry.getValue().get(device)));
                });
        return usable;
    }

    /**
     * Network interfaces to use, in the order of {@code names}: the ones that {@link EfaKeys#INTERFACE} means, else one
     * that suits.
     */
    static List<String> interfaces(EpConfig config, List<String> names) {
        InterfacePattern pattern = InterfacePattern.parse(EfaKeys.INTERFACE.get(config));
        if (!pattern.isEmpty()) {
            return names.stream().filter(pattern::matches).toList();
        }
        Optional<String> real =
                names.stream().filter(name -> !NicFamilies.virtual(name)).findFirst();
        return real.or(() -> names.stream().filter(name -> !name.equals("lo")).findFirst())
                .or(() -> names.stream().findFirst())
                .map(List::of)
                .orElse(List.of());
    }

    /** An interface has several addresses: IPv4 first, and one of the link alone last. */
    private static FabricInfo better(FabricInfo a, FabricInfo b) {
        return rank(b) < rank(a) ? b : a;
    }

    private static int rank(FabricInfo info) {
        if (info.linkLocal()) {
            return 2;
        }
        return info.address().startsWith("ipv6") ? 1 : 0;
    }
}
