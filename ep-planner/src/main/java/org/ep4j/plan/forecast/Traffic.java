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
        wire += bytes;
        int out = paths.index(from, to);
        if (paths.traits(out).ownLink()) {
            ownLinks.merge((long) from * byRank.size() + to, bytes, Double::sum);
            return;
        }
        cell(from, out)[0] += bytes;
        // What arrives uses the ports by which the receiver would answer.
        cell(to, paths.index(to, from))[1] += bytes;
    }

    /** Bytes from a rank to peers that are reached as {@code example} is. */
    void addOut(int rank, int example, double bytes) {
        if (bytes > 0) {
            wire += bytes;
            cell(rank, paths.index(rank, example))[0] += bytes;
        }
    }

    /** Bytes to a rank from peers that it reaches as {@code example}. */
    void addIn(int rank, int example, double bytes) {
        if (bytes > 0) {
            cell(rank, paths.index(rank, example))[1] += bytes;
        }
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
