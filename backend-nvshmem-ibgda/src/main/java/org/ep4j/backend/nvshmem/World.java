package org.ep4j.backend.nvshmem;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * The processes that have initialised NVSHMEM together, which this one stays among until it ends.
 *
 * @param id of the world
 * @param pe of this process
 * @param size number of PEs
 */
record World(String id, int pe, int size) {
    /** For another rank. */
    static byte[] encode(Optional<World> world) {
        byte[] id = world.map(World::id).orElse("").getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(8 + id.length)
                .putInt(world.map(World::pe).orElse(-1))
                .putInt(world.map(World::size).orElse(0))
                .put(id)
                .array();
    }

    /** What {@link #encode} gave. */
    static Optional<World> decode(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int pe = in.getInt();
        int size = in.getInt();
        byte[] id = new byte[in.remaining()];
        in.get(id);
        return pe < 0 ? Optional.empty() : Optional.of(new World(new String(id, StandardCharsets.UTF_8), pe, size));
    }
}
