package org.ep4j.doctor;

import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.PciAddress;

/**
 * Bridges whose ACS redirection lengthens the way between GPUs and NICs. A root port with a switch below it is none when GPU
 * and NIC are both below that switch: what they send each other turns round in the switch.
 */
final class AcsBridges {
    private AcsBridges() {}

    /** Addresses, in the order of the devices below them. */
    static Set<String> of(DoctorInput input) {
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
}
