package org.ep4j.plan;

import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach.LinkLayer;

/**
 * The network that all ranks of a backend use where some of them have ports of two kinds: InfiniBand does not speak to
 * Ethernet. Of those that every rank has, it is the one that is nearest for most ranks, then the one with more bandwidth,
 * then InfiniBand.
 */
final class NicNetwork {
    private final Set<LinkLayer> everywhere = EnumSet.of(LinkLayer.INFINIBAND, LinkLayer.ETHERNET);
    private final Map<LinkLayer, Long> nearestFor = new EnumMap<>(LinkLayer.class);
    private final Map<LinkLayer, Double> bandwidth = new EnumMap<>(LinkLayer.class);

    /** Adds {@code count} ranks that see the same ports. */
    void add(List<String> nics, Locality locality, long count) {
        List<PortView> views = PortView.of(nics, locality);
        Set<LinkLayer> layers = views.stream().map(NicNetwork::layer).collect(Collectors.toSet());
        if (layers.contains(LinkLayer.UNSPECIFIED)) {
            // It may be of any kind.
            return;
        }
        everywhere.retainAll(layers);
        int nearest = views.stream().mapToInt(PortView::nearness).min().orElse(0);
        for (LinkLayer layer : layers) {
            List<PortView> own =
                    views.stream().filter(view -> layer(view) == layer).toList();
            if (own.stream().anyMatch(view -> view.nearness() == nearest)) {
                nearestFor.merge(layer, count, Long::sum);
            }
            double sum = own.stream().mapToDouble(PortView::estimate).sum();
            bandwidth.merge(layer, count * sum, Double::sum);
        }
    }

    /** Of a rank's candidates, those on the network; all when ranks have none in common. */
    List<String> narrow(List<String> nics, Locality locality) {
        Optional<LinkLayer> network = everywhere.stream()
                .max(Comparator.comparingLong((LinkLayer layer) -> nearestFor.getOrDefault(layer, 0L))
                        .thenComparingDouble(layer -> bandwidth.getOrDefault(layer, 0.0))
                        .thenComparing(Comparator.reverseOrder()));
        List<PortView> views = PortView.of(nics, locality);
        List<String> narrowed = IntStream.range(0, nics.size())
                .filter(nic -> {
                    LinkLayer layer = layer(views.get(nic));
                    return layer == LinkLayer.UNSPECIFIED
                            || network.filter(layer::equals).isPresent();
                })
                .mapToObj(nics::get)
                .toList();
        return narrowed.isEmpty() ? nics : narrowed;
    }

    private static LinkLayer layer(PortView view) {
        return view.fabric().layer();
    }
}
