package org.ep4j.backend.ibrc;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Second thing that ranks tell each other.
 *
 * @param memory the control memory
 * @param numbers numbers of the queue pairs to each peer, by the peer's rank and then by lane
 */
record QueuePairs(MemoryRecord memory, Map<Integer, List<Integer>> numbers) {
    byte[] encode() {
        return Packing.pack(out -> {
            memory.write(out);
            out.putInt(numbers.size());
            numbers.forEach((peer, lanes) -> {
                out.putInt(peer);
                Packing.ints(out, lanes);
            });
        });
    }

    static QueuePairs decode(byte[] bytes) {
        return Packing.unpack(bytes, "its queue pairs", in -> {
            MemoryRecord memory = MemoryRecord.read(in);
            Map<Integer, List<Integer>> numbers = new TreeMap<>();
            int count = in.getInt();
            for (int i = 0; i < count; i++) {
                int peer = in.getInt();
                numbers.put(peer, Packing.ints(in));
            }
            return new QueuePairs(memory, numbers);
        });
    }
}
