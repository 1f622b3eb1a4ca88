package org.ep4j.engine.bootstrap;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpConfig;
import org.ep4j.EpConfig.Setting;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;
import org.ep4j.config.InterfacePattern;

/**
 * Network interfaces that the rendezvous uses: {@link EpKeys#BOOTSTRAP_INTERFACE}. The setting itself is required: other interfaces are
 * refused. A variable of other software, which a job may have for that software alone, is a preference: a join that works without it
 * does not fail because of it.
 *
 * @param setting name and value of the setting, for messages
 * @param required whether only these may be used
 * @param chosen interfaces to use; empty for any
 * @param all interfaces of this machine
 */
record ChosenInterfaces(String setting, boolean required, List<LocalInterface> chosen, List<LocalInterface> all) {
    private static final Logger LOG = System.getLogger(ChosenInterfaces.class.getName());

    static final ChosenInterfaces NONE = new ChosenInterfaces("", false, List.of(), List.of());

    private static final String CHANGE_ADDRESS = "set " + TcpSettings.MASTER_ADDR + " or "
            + EpKeys.BOOTSTRAP_ADDRESS.environmentName() + " to an address that these interfaces reach, or unset "
            + EpKeys.BOOTSTRAP_INTERFACE.name();

    /**
     * Applies the setting to the interfaces of a machine, which are listed only if it is set.
     *
     * @throws EpConfigException when the setting itself, and not a variable of other software, matches no interface
     */
    static ChosenInterfaces of(EpConfig config, Supplier<List<LocalInterface>> ofMachine) {
        InterfacePattern pattern = InterfacePattern.parse(EpKeys.BOOTSTRAP_INTERFACE.get(config));
        if (pattern.isEmpty()) {
            return NONE;
        }
        List<LocalInterface> machine = ofMachine.get();
        Setting given = EpKeys.BOOTSTRAP_INTERFACE.setting(config);
        boolean required = !EpKeys.BOOTSTRAP_INTERFACE.variables().contains(given.source());
        String setting = (given.source().isEmpty() ? given.name() : given.source()) + " = \"" + given.text() + "\"";
        List<LocalInterface> chosen = machine.stream()
                .filter(one -> pattern.matches(one.name()) && !(pattern.negated() && one.isLoopback()))
                .toList();
        if (chosen.isEmpty()) {
            String problem =
                    setting + " matches no interface of this machine that is up and has an address; usable interfaces: "
                            + (machine.isEmpty() ? "none" : names(machine));
            if (required) {
                throw new EpConfigException(problem + "; name one of them (a name also matches longer names, a leading"
                        + " = requires exact names, a leading ^ means all but these and loopback), or"
                        + " unset the setting");
            }
            LOG.log(
                    Level.WARNING,
                    "{0}; the rendezvous uses any interface; set {1} to choose one",
                    problem,
                    EpKeys.BOOTSTRAP_INTERFACE.environmentName());
            return NONE;
        }
        return new ChosenInterfaces(setting, required, chosen, machine);
    }

    private static String names(List<LocalInterface> interfaces) {
        return interfaces.stream().map(LocalInterface::toString).collect(Collectors.joining(", "));
    }

    boolean has(InetAddress address) {
        return chosen.stream().anyMatch(one -> one.has(address));
    }

    private boolean isOwn(InetAddress address) {
        return address.isLoopbackAddress() || all.stream().anyMatch(one -> one.has(address));
    }

    /** Default address to listen on: IPv4 before IPv6, link-local ones last. */
    InetAddress first() {
        return addresses()
                .map(LocalInterface.Address::address)
                .min(Comparator.<InetAddress, Boolean>comparing(ChosenInterfaces::isLinkLocal)
                        .thenComparing(address -> !(address instanceof Inet4Address)))
                .orElseThrow(() -> new IllegalStateException("no interface is chosen"));
    }

    private Stream<LocalInterface.Address> addresses() {
        return chosen.stream().flatMap(one -> one.addresses().stream());
    }

    /** Returns whether an address needs a scope, as link-local ones of IPv4 do not. */
    private static boolean isLinkLocal(InetAddress address) {
        return address instanceof Inet6Address && address.isLinkLocalAddress();
    }

    /**
     * Selects the addresses of rank 0 that these interfaces reach.
     *
     * @param known addresses of the host of rank 0
     * @param exact false if a loopback address only means that rank 0 is on this machine, as in {@code /etc/hosts} of many machines
     * @throws EpConfigException when these interfaces are required and reach none of the addresses
     */
    List<InetAddress> reachable(List<InetAddress> known, boolean exact) {
        if (!required || known.isEmpty()) {
            return known;
        }
        Set<InetAddress> usable = new LinkedHashSet<>();
        for (InetAddress address : known) {
            if (has(address)) {
                usable.add(own(address));
            } else if (address.isLoopbackAddress() && !exact) {
                usable.add(first());
            } else if (!isOwn(address)) {
                localEnd(address).ifPresent(end -> usable.add(scoped(address, end)));
            }
        }
        if (usable.isEmpty()) {
            throw unreachable(known.get(0));
        }
        return List.copyOf(usable);
    }

    private EpConfigException unreachable(InetAddress address) {
        String where = "rank 0 is at " + address.getHostAddress();
        String here = setting + " means " + names(chosen);
        if (address.isLoopbackAddress()) {
            return new EpConfigException(where + ", a loopback address, but " + here + "; " + CHANGE_ADDRESS
                    + " if all ranks are on one machine");
        }
        if (isOwn(address)) {
            String other = all.stream()
                    .filter(one -> one.has(address))
                    .map(LocalInterface::name)
                    .collect(Collectors.joining(", "));
            return new EpConfigException(where + ", an address of interface " + other + " of this machine, but " + here
                    + "; " + CHANGE_ADDRESS);
        }
        String family = isLinkLocal(address) ? "IPv6 link-local" : address instanceof Inet4Address ? "IPv4" : "IPv6";
        return new EpConfigException(
                where + ", but " + here + ", and no " + family + " address there can reach rank 0; " + CHANGE_ADDRESS
                        + ", or give one of these interfaces such an address");
    }

    /** Returns the interface's form of an address, which has the scope that a link-local one needs. */
    private InetAddress own(InetAddress address) {
        return addresses()
                .map(LocalInterface.Address::address)
                .filter(address::equals)
                .findFirst()
                .orElse(address);
    }

    private static InetAddress scoped(InetAddress address, InetAddress end) {
        if (!isLinkLocal(address) || ((Inet6Address) address).getScopeId() != 0) {
            return address;
        }
        try {
            return Inet6Address.getByAddress(null, address.getAddress(), ((Inet6Address) end).getScopeId());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("16 bytes are an IPv6 address", e);
        }
    }

    /**
     * Local addresses to connect from, in the order in which to try them; an empty one lets the system choose, as for addresses of
     * this machine.
     */
    List<Optional<InetAddress>> localEnds(InetAddress target) {
        Optional<InetAddress> end = isOwn(target) ? Optional.empty() : localEnd(target);
        List<Optional<InetAddress>> ends = new ArrayList<>();
        if (end.isPresent()) {
            ends.add(end);
        }
        if (end.isEmpty() || !required) {
            ends.add(Optional.empty());
        }
        return ends;
    }

    private Optional<InetAddress> localEnd(InetAddress target) {
        List<LocalInterface.Address> ends = addresses()
                .filter(one -> !one.address().isLoopbackAddress() && fits(one.address(), target))
                .toList();
        return ends.stream()
                .filter(one -> one.isNear(target))
                .findFirst()
                .or(() -> ends.stream().findFirst())
                .map(LocalInterface.Address::address);
    }

    private static boolean fits(InetAddress end, InetAddress target) {
        if (!end.getClass().equals(target.getClass()) || isLinkLocal(end) != isLinkLocal(target)) {
            return false;
        }
        int scope = isLinkLocal(target) ? ((Inet6Address) target).getScopeId() : 0;
        return scope == 0 || scope == ((Inet6Address) end).getScopeId();
    }
}
