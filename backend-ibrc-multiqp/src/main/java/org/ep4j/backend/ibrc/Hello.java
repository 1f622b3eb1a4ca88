package org.ep4j.backend.ibrc;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.engine.collective.Packing;

/**
 * First thing that ranks tell each other.
 *
 * @param atomics true when its NICs can add to words
 * @param lanes most lanes of one of its links
 * @param ports its ports, in the order that others name them in
 */
record Hello(boolean atomics, int lanes, List<PortRecord> ports) {
    Hello {
        ports = List.copyOf(ports);
    }

    byte[] encode() {
        return Packing.pack(out -> {
            out.put((byte) (atomics ? 1 : 0)).putInt(lanes).putInt(ports.size());
            ports.forEach(port -> port.write(out));
        });
    }

    static Hello decode(byte[] bytes) {
        return Packing.unpack(bytes, "its ports", Hello::read);
    }

    private static Hello read(ByteBuffer in) {
        boolean atomics = in.get() != 0;
        int lanes = in.getInt();
        int count = in.getInt();
        List<PortRecord> ports = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ports.add(PortRecord.read(in));
        }
        return new Hello(atomics, lanes, ports);
    }
}
