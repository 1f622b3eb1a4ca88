package org.ep4j.plan;

import static org.ep4j.plan.RankProfileCodec.readCount;
import static org.ep4j.plan.RankProfileCodec.readText;
import static org.ep4j.plan.RankProfileCodec.writeText;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicPort.LinkLayer;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.ep4j.topology.PortObstacle;

/** A {@link Locality} as bytes. Constants travel by name, so that their order may change. */
final class LocalityCodec {
    private LocalityCodec() {}

    static void write(DataOutputStream out, Locality locality) throws IOException {
        out.writeInt(locality.gpu());
        writeText(out, locality.vendor().name());
        writeText(out, locality.architecture());
        out.writeInt(locality.numa());
        out.writeInt(locality.gpus());
        out.writeInt(locality.processors());
        out.writeInt(locality.card());
        out.writeInt(locality.peers().size());
        for (GpuPeer peer : locality.peers()) {
            out.writeInt(peer.gpu());
            out.writeInt(peer.card());
            writeDistance(out, peer.distance());
            writeText(out, peer.link().name());
            out.writeInt(peer.via().size());
            for (int between : peer.via()) {
                out.writeInt(between);
            }
        }
        out.writeInt(locality.nics().size());
        for (NicReach nic : locality.nics()) {
            writeText(out, nic.name());
            writeText(out, nic.family().name());
            writeText(out, nic.card());
            writeText(out, nic.function());
            writeDistance(out, nic.distance());
            writeText(out, nic.gpuDirect().map(String::valueOf).orElse(""));
            out.writeInt(nic.ports().size());
            for (NicReach.Port port : nic.ports()) {
                out.writeInt(port.number());
                writeText(out, port.linkLayer().name());
                out.writeDouble(port.gigabitsPerSecond());
                writeText(out, port.network());
            }
            out.writeInt(nic.leftOut().size());
            for (Map.Entry<Integer, PortObstacle> port : nic.leftOut().entrySet()) {
                out.writeInt(port.getKey());
                writeText(out, port.getValue().name());
            }
        }
    }

    static Locality read(DataInputStream in) throws IOException {
        int gpu = in.readInt();
        GpuVendor vendor = constant(GpuVendor.class, readText(in));
        String architecture = readText(in);
        int numa = in.readInt();
        int gpus = in.readInt();
        int processors = in.readInt();
        int card = in.readInt();
        List<GpuPeer> peers = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            peers.add(new GpuPeer(
                    in.readInt(), in.readInt(), readDistance(in), constant(LinkType.class, readText(in)), readVia(in)));
        }
        List<NicReach> nics = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            nics.add(readNic(in));
        }
        return new Locality(gpu, vendor, architecture, numa, gpus, peers, nics, processors, card);
    }

    private static List<Integer> readVia(DataInputStream in) throws IOException {
        List<Integer> via = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            via.add(in.readInt());
        }
        return via;
    }

    private static NicReach readNic(DataInputStream in) throws IOException {
        String name = readText(in);
        NicFamily family = constant(NicFamily.class, readText(in));
        String card = readText(in);
        String function = readText(in);
        Distance distance = readDistance(in);
        String direct = readText(in);
        List<NicReach.Port> ports = new ArrayList<>();
        for (int i = readCount(in); i > 0; i--) {
            ports.add(new NicReach.Port(
                    in.readInt(), constant(LinkLayer.class, readText(in)), in.readDouble(), readText(in)));
        }
        Map<Integer, PortObstacle> leftOut = new TreeMap<>();
        for (int i = readCount(in); i > 0; i--) {
            leftOut.put(in.readInt(), constant(PortObstacle.class, readText(in)));
        }
        return new NicReach(
                name,
                family,
                card,
                function,
                distance,
                direct.isEmpty() ? Optional.empty() : Optional.of(Boolean.valueOf(direct)),
                ports,
                leftOut);
    }

    private static void writeDistance(DataOutputStream out, Distance distance) throws IOException {
        writeText(out, distance.type().name());
        out.writeDouble(distance.gigabytesPerSecond());
        out.writeInt(distance.hops());
    }

    private static Distance readDistance(DataInputStream in) throws IOException {
        return new Distance(constant(PathType.class, readText(in)), in.readDouble(), in.readInt());
    }

    private static <E extends Enum<E>> E constant(Class<E> type, String name) throws IOException {
        try {
            return Enum.valueOf(type, name);
        } catch (IllegalArgumentException e) {
            throw new IOException("unknown " + type.getSimpleName() + " \"" + name + "\"", e);
        }
    }
}
