package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.engine.collective.Packing;

/**
 * Second thing that ranks tell each other.
 *
 * @param memory the control memory
 * @param ends queue pairs to each peer, by the peer's rank and then by lane
 */
record QueuePairs(MemoryRecord memory, Map<Integer, List<End>> ends) {
    /**
     * One end of a queue pair.
     *
     * @param number of it on its device
     * @param firstPacket number of the first packet that it sends: any, so that packets of a queue pair that had the number
     *     before are not taken for its own
     */
    record End(int number, int firstPacket) {}

    byte[] encode() {
        return Packing.pack(out -> {
            memory.write(out);
            out.putInt(ends.size());
            ends.forEach((peer, lanes) -> {
                out.putInt(peer);
                Packing.ints(out, lanes.stream().map(End::number).toList());
                Packing.ints(out, lanes.stream().map(End::firstPacket).toList());
            });
        });
    }

    static QueuePairs decode(byte[] bytes) {
        return Packing.unpack(bytes, "its queue pairs", in -> {
            MemoryRecord memory = MemoryRecord.read(in);
            Map<Integer, List<End>> ends = new TreeMap<>();
            int count = in.getInt();
            for (int i = 0; i < count; i++) {
                int peer = in.getInt();
                ends.put(peer, zip(Packing.ints(in), Packing.ints(in)));
            }
            return new QueuePairs(memory, ends);
        });
    }

    private static List<End> zip(List<Integer> numbers, List<Integer> firstPackets) {
        if (numbers.size() != firstPackets.size()) {
            throw new IllegalArgumentException(numbers.size() + " numbers, " + firstPackets.size() + " first packets");
        }
        List<End> ends = new ArrayList<>();
        for (int i = 0; i < numbers.size(); i++) {
            ends.add(new End(numbers.get(i), firstPackets.get(i)));
        }
        return ends;
    }
}
