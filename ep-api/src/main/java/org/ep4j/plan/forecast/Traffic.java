package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Bytes of one operation, by rank and kind of path; and from there, by the links and ports that carry them. */
final class Traffic {
    private final PathTable paths;
    private final List<Map<Integer, double[]>> byRank = new ArrayList<>();
    private final Map<Long, Double> ownLinks = new HashMap<>();
    private double wire;

    Traffic(PathTable paths, int ranks) {
        this.paths = paths;
        for (int rank = 0; rank < ranks; rank++) {
            byRank.add(new HashMap<>());
        }
    }

    /** Bytes from one rank to another; those to itself cost nothing here. */
    void add(int from, int to, double bytes) {
        if (from == to || bytes <= 0) {
            return;
        }
        int out = paths.index(from, to);
        if (ownLink(out)) {
            wire += bytes;
            ownLinks.merge((long) from * byRank.size() + to, bytes, Double::sum);
            return;
        }
        add(from, out, bytes, 0);
        // What arrives uses the ports by which the receiver would answer.
        add(to, paths.index(to, from), 0, bytes);
    }

    /** Bytes that a rank sends, and bytes that it gets, over paths of one number; not those of {@link #ownLink}. */
    void add(int rank, int path, double out, double in) {
        if (out > 0 || in > 0) {
            wire += out;
            double[] cell = cell(rank, path);
            cell[0] += out;
            cell[1] += in;
        }
    }

    /** True for paths over links that two GPUs have for themselves, whose bytes are added by pair. */
    boolean ownLink(int path) {
        return paths.traits(path).gpuPath().filter(way -> !way.shared()).isPresent();
    }

    private double[] cell(int rank, int path) {
        return byRank.get(rank).computeIfAbsent(path, k -> new double[2]);
    }

    /** Bytes that left ranks, on average. */
    double wirePerRank() {
        return wire / Math.max(1, byRank.size());
    }

    /** By path of a rank: bytes out, bytes in. */
    Map<Integer, double[]> of(int rank) {
        return byRank.get(rank);
    }

    /** By {@code from * ranks + to}: bytes over links that two GPUs have for themselves. */
    Map<Long, Double> ownLinks() {
        return ownLinks;
    }
}
