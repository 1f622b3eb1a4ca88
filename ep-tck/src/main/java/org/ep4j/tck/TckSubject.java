package org.ep4j.tck;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.ep4j.Device;
import org.ep4j.tck.crew.GroupFactory;

/**
 * What is tested.
 *
 * @param backend id of the backend
 * @param device device of the ranks: {@code host}; of several devices of a type, rank {@code i} takes number {@code i},
 *     counted round, unless one is named
 * @param settings configuration of every group, besides device and backend
 * @param declared what it says it can do; what that implies is added
 * @param maxRanks most ranks that it can have here, for example its number of devices; rules for more are UNTESTED
 * @param factory joins the groups
 */
public record TckSubject(
        String backend,
        String device,
        Map<String, String> settings,
        Set<Capability> declared,
        int maxRanks,
        Class<? extends GroupFactory> factory) {
    /** Copies the map and completes the capabilities; those that only GPUs have are left out of others. */
    public TckSubject {
        settings = Map.copyOf(settings);
        Set<Capability> all = EnumSet.noneOf(Capability.class);
        all.addAll(Capability.closure(declared));
        if (!Device.parse(device).isGpu()) {
            all.remove(Capability.STREAMS);
        }
        declared = Set.copyOf(all);
    }

    /** A backend that declares everything. */
    public static TckSubject of(String backend, String device) {
        return new TckSubject(
                backend,
                device,
                Map.of(),
                EnumSet.allOf(Capability.class),
                Integer.MAX_VALUE,
                GroupFactory.Plain.class);
    }

    /** The same without some capabilities, and without those that imply them. */
    public TckSubject without(Capability... missing) {
        Set<Capability> kept = EnumSet.copyOf(declared);
        for (Capability gone : missing) {
            kept.removeIf(c -> Capability.closure(Set.of(c)).contains(gone));
        }
        return new TckSubject(backend, device, settings, kept, maxRanks, factory);
    }

    /** The same with settings on top. */
    public TckSubject with(Map<String, String> more) {
        Map<String, String> all = new java.util.TreeMap<>(settings);
        all.putAll(more);
        return new TckSubject(backend, device, all, declared, maxRanks, factory);
    }

    /** The same with groups from {@code other}. */
    public TckSubject with(Class<? extends GroupFactory> other) {
        return new TckSubject(backend, device, settings, declared, maxRanks, other);
    }

    /** The same with at most {@code ranks} ranks. */
    public TckSubject upTo(int ranks) {
        return new TckSubject(backend, device, settings, declared, ranks, factory);
    }
}
