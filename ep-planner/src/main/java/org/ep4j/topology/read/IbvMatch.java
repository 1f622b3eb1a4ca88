package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.PciAddress;
import org.jspecify.annotations.Nullable;

/**
 * Which NIC of a machine is which device of {@code ibv_devinfo}: by node GUID where both have it, for names change; then by
 * name; then by the PCI function that rdma-core puts into names ({@code rocep65s0f1}). A NIC without a name is taken for the
 * only device with its ids that is left.
 */
final class IbvMatch {
    /** What rdma-core's {@code kernel-boot/rdma_rename.c} calls devices after their PCI function; numbers are decimal. */
    private static final Pattern BY_PCI =
            Pattern.compile("(?:ib|roce|iw|opa|rdma)(?:P(\\d{1,5}))?p(\\d{1,3})s(\\d{1,2})(?:f(\\d))?");

    private final Map<Nic, IbvDevice> found = new LinkedHashMap<>();
    private final List<Nic> nics;
    private final List<IbvDevice> lacking;
    private final Set<Nic> ambiguous = new HashSet<>();
    private final List<String> doubts = new ArrayList<>();

    private IbvMatch(List<Nic> nics, List<IbvDevice> devices) {
        this.nics = nics;
        this.lacking = new ArrayList<>(devices);
    }

    static IbvMatch of(List<Nic> nics, List<IbvDevice> devices) {
        IbvMatch match = new IbvMatch(nics, devices);
        match.pair(IbvMatch::sameGuid);
        match.pair((nic, device) -> nic.name().equals(device.name()));
        match.pair((nic, device) -> nic.address().isPresent() && nic.address().equals(byPci(device.name())));
        match.nameless();
        match.found.forEach(match::doubt);
        return match;
    }

    /** The device that a NIC is; null when no device of the text matches it, or several do. */
    @Nullable
    IbvDevice device(Nic nic) {
        return found.get(nic);
    }

    /** NICs without a name that may be one of several devices. */
    Set<Nic> ambiguous() {
        return ambiguous;
    }

    /** Devices that match no NIC of the machine. */
    List<IbvDevice> lacking() {
        return lacking;
    }

    /** What is odd about how they were matched, for people. */
    List<String> doubts() {
        return doubts;
    }

    /** Pairs those that match one another and nothing else. */
    private void pair(BiPredicate<Nic, IbvDevice> same) {
        for (IbvDevice device : List.copyOf(lacking)) {
            List<Nic> alike = left(nic -> same.test(nic, device));
            boolean alone = alike.size() == 1
                    && lacking.stream()
                                    .filter(other -> same.test(alike.get(0), other))
                                    .count()
                            == 1;
            if (alone) {
                found.put(alike.get(0), device);
                lacking.remove(device);
            }
        }
    }

    private void nameless() {
        Predicate<Nic> unnamed = nic -> nic.name().startsWith("nic@");
        pair((nic, device) -> unnamed.test(nic) && sameIds(nic, device));
        ambiguous.addAll(left(nic -> unnamed.test(nic)
                && lacking.stream().anyMatch(device -> nic.id().vendor() < 0 || sameIds(nic, device))));
        if (!ambiguous.isEmpty()) {
            doubts.add("it is not known which devices of this output are the NICs "
                    + ambiguous.stream().map(Nic::name).sorted().collect(Collectors.joining(", "))
                    + " of the machine; these NICs stay unchanged");
        }
    }

    private void doubt(Nic nic, IbvDevice device) {
        if (!nic.name().equals(device.name())) {
            doubts.add(nic.name() + " of the machine is " + device.name()
                    + " in this output, and gets the name from the output");
        } else if (!nic.guid().isEmpty()
                && !device.guid().isEmpty()
                && !nic.guid().equals(device.guid())) {
            doubts.add(device.name() + " has node GUID " + device.guid() + " in this output, and " + nic.guid()
                    + " on the machine; use the output of the same machine");
        }
    }

    private List<Nic> left(Predicate<Nic> wanted) {
        return nics.stream()
                .filter(nic -> !found.containsKey(nic) && wanted.test(nic))
                .toList();
    }

    private static boolean sameGuid(Nic nic, IbvDevice device) {
        return !nic.guid().isEmpty() && nic.guid().equals(device.guid());
    }

    private static boolean sameIds(Nic nic, IbvDevice device) {
        return nic.id().vendor() >= 0
                && nic.id().vendor() == device.vendor()
                && nic.id().device() == device.part();
    }

    private static Optional<PciAddress> byPci(String name) {
        Matcher place = BY_PCI.matcher(name);
        return place.matches()
                ? Optional.of(new PciAddress(
                        number(place.group(1)), number(place.group(2)), number(place.group(3)), number(place.group(4))))
                : Optional.empty();
    }

    private static int number(@Nullable String digits) {
        return digits == null ? 0 : Integer.parseInt(digits);
    }
}
