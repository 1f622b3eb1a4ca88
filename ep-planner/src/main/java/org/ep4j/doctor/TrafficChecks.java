package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.model.Nic;

/** Checks of other traffic on the same NICs. */
final class TrafficChecks implements Examination {
    /** PCI device id of the network function. */
    private static final int BLUEFIELD_3 = 0xa2dc;

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(lazyConnect(input), classes(input), adaptiveRouting(input));
    }

    private static Check lazyConnect(DoctorInput input) {
        DoctorCode code = DoctorCode.NCCL_LAZY_CONNECT;
        List<Nic> nics = input.trafficNics().stream()
                .filter(nic -> nic.family() == NicFamily.MLX5)
                .toList();
        if (nics.isEmpty()) {
            return code.notApplicable(
                    "lazy connections of NCCL are known to slow down RDMA traffic only on NVIDIA NICs, and this machine has no NVIDIA"
                            + " NIC");
        }
        List<FoundLibrary> found = input.found(KnownLibrary.NCCL);
        if (found.isEmpty()) {
            return code.notApplicable("no NCCL was found");
        }
        if (nics.stream().allMatch(nic -> nic.id().device() == BLUEFIELD_3)) {
            return code.notApplicable("in measurements, BlueField-3 showed no difference between versions of NCCL");
        }
        String wanted = dualPort(nics)
                ? "NCCL_RUNTIME_CONNECT=0"
                : "NCCL_RUNTIME_CONNECT=0 NCCL_NVLS_ENABLE=0 NCCL_IB_QPS_PER_CONNECTION=4 NCCL_MAX_NCHANNELS=4";
        if (input.variable("NCCL_RUNTIME_CONNECT").equals("0")) {
            return code.pass("NCCL_RUNTIME_CONNECT=0 (" + ports(nics) + ": " + wanted + " was measured best)");
        }
        Optional<FoundLibrary> lazy =
                found.stream().filter(one -> one.number().atLeast(2, 22)).findFirst();
        if (lazy.isPresent()) {
            return code.warn(
                    "NCCL " + lazy.get() + " connects on first use", ports(nics) + ": set " + wanted + " on all ranks");
        }
        return found.stream().allMatch(one -> one.number().known())
                ? code.pass("NCCL " + found.get(0) + " connects at once")
                : code.notRun(
                        "version of " + found.get(0).path() + " is not known",
                        ports(nics) + ": with NCCL 2.22 or" + " newer set " + wanted + " on all ranks");
    }

    private static String ports(List<Nic> nics) {
        return dualPort(nics) ? "NICs of two ports" : "NICs of one port";
    }

    /** Two ports of one device, or two devices of one card. */
    private static boolean dualPort(List<Nic> nics) {
        Map<String, Integer> ports = new HashMap<>();
        for (Nic nic : nics) {
            String card = nic.card().isEmpty() ? nic.name() : nic.card();
            ports.merge(card, Math.max(1, nic.ports().size()), Integer::sum);
        }
        return ports.values().stream().anyMatch(count -> count > 1);
    }

    private static boolean layer(DoctorInput input, LinkLayer layer) {
        return input.trafficNics().stream()
                .flatMap(nic -> nic.ports().stream())
                .anyMatch(port -> port.linkLayer() == layer);
    }

    private static Check classes(DoctorInput input) {
        DoctorCode code = DoctorCode.TRAFFIC_CLASSES;
        boolean infiniBand = layer(input, LinkLayer.INFINIBAND);
        boolean roce = layer(input, LinkLayer.ETHERNET);
        if (!infiniBand && !roce) {
            return code.notApplicable("neither InfiniBand nor RoCE");
        }
        if (input.found(KnownLibrary.NCCL).isEmpty()
                && input.found(KnownLibrary.RCCL).isEmpty()) {
            return code.notApplicable("neither NCCL nor RCCL was found");
        }
        List<String> same = new ArrayList<>();
        List<String> open = new ArrayList<>();
        if (infiniBand) {
            compare(input, EpKeys.NIC_SERVICE_LEVEL, "NCCL_IB_SL", "service level", same, open);
        }
        if (roce) {
            compare(input, EpKeys.NIC_TRAFFIC_CLASS, "NCCL_IB_TC", "traffic class", same, open);
        }
        if (!same.isEmpty()) {
            return code.warn("ep4j and NCCL both use " + String.join(" and ", same));
        }
        return open.isEmpty()
                ? code.pass("ep4j and NCCL use different service levels or traffic classes")
                : code.notRun(
                        "neither " + String.join(" nor ", open)
                                + " is set, and it is not known here which values the fabric offers",
                        code.remedy());
    }

    private static void compare(
            DoctorInput input,
            ConfigKey<Integer> key,
            String variable,
            String what,
            List<String> same,
            List<String> open) {
        String nccl = input.variable(variable);
        if (nccl.isEmpty() && key.setting(input.config()).origin() == EpConfig.Origin.DEFAULT) {
            open.add(key.name() + " nor " + variable);
            return;
        }
        int theirs = nccl.matches("[0-9]{1,4}") ? Integer.parseInt(nccl) : 0;
        int ours = Math.max(0, input.setting(key).orElse(0));
        if (ours == theirs) {
            same.add(what + " " + ours + " (" + key.name() + ", " + variable + ")");
        }
    }

    private static Check adaptiveRouting(DoctorInput input) {
        DoctorCode code = DoctorCode.ADAPTIVE_ROUTING;
        return layer(input, LinkLayer.INFINIBAND) || layer(input, LinkLayer.ETHERNET)
                ? code.notRun("a host cannot ask the fabric whether adaptive routing is on", code.remedy())
                : code.notApplicable("neither InfiniBand nor RoCE");
    }
}
