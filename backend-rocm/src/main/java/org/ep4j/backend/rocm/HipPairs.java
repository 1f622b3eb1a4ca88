package org.ep4j.backend.rocm;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.ep4j.engine.hip.HipGpu;
import org.ep4j.engine.hip.HipGpus;

/** Every two of the GPUs that HIP shows, for people and as facts. */
final class HipPairs {
    private static final int NAMED = 4;

    private final HipGpus shown;
    private final HipPlaces places;

    HipPairs(HipGpus shown, HipPlaces places) {
        this.shown = shown;
        this.places = places;
    }

    /** Places of the other GPUs to which a GPU has such a way, as a list for a fact. */
    String peers(HipGpu gpu, Predicate<HipGpu.Way> way) {
        return peers(gpu, way, false);
    }

    /** As above, with the hops behind each place. */
    String xgmi(HipGpu gpu) {
        return peers(gpu, HipGpu.Way::xgmi, true);
    }

    private String peers(HipGpu gpu, Predicate<HipGpu.Way> way, boolean hops) {
        List<String> texts = new ArrayList<>();
        gpu.peers().forEach((other, found) -> {
            Optional<HipPlaces.Place> place = places.of(other);
            if (way.test(found) && place.isPresent()) {
                texts.add(place.get().name() + (hops ? "/" + found.hops() : ""));
            }
        });
        return texts.stream().sorted().collect(Collectors.joining(","));
    }

    /** Pairs that are alike together: 64 partitions make 2016 of them. */
    String describe() {
        Map<String, List<String>> alike = new LinkedHashMap<>();
        for (HipGpu a : shown.all()) {
            for (HipGpu b : shown.all()) {
                if (a.ordinal() < b.ordinal()) {
                    alike.computeIfAbsent(way(a, b), text -> new ArrayList<>())
                            .add("hip:" + a.ordinal() + " - hip:" + b.ordinal());
                }
            }
        }
        List<String> texts = new ArrayList<>();
        alike.forEach((way, pairs) -> texts.add(way + ": "
                + pairs.stream().limit(NAMED).collect(Collectors.joining(", "))
                + (pairs.size() > NAMED ? " and " + (pairs.size() - NAMED) + " more pairs" : "")));
        return String.join("; ", texts);
    }

    private static String way(HipGpu a, HipGpu b) {
        Optional<HipGpu.Way> there = Optional.ofNullable(a.peers().get(b.ordinal()));
        Optional<HipGpu.Way> back = Optional.ofNullable(b.peers().get(a.ordinal()));
        boolean forth = there.filter(HipGpu.Way::possible).isPresent();
        boolean home = back.filter(HipGpu.Way::possible).isPresent();
        String access = forth && home ? "peer access" : forth || home ? "peer access one way only" : "no peer access";
        return there.filter(HipGpu.Way::xgmi)
                        .map(way -> "xGMI, " + way.hops() + (way.hops() == 1 ? " hop" : " hops"))
                        .orElse("PCIe")
                + ", " + access;
    }
}
