package org.ep4j.examples.llm;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;

/** The BF16 bytes of tensors, by name. */
interface TensorBytes {
    /** Random matrices whose products with a token keep its size, and vectors of ones; the same on every rank. */
    TensorBytes RANDOM = TensorBytes::random;

    /** A matrix, or a vector as a matrix of one row; little endian. */
    ByteBuffer bytes(String name, int rows, int columns);

    private static ByteBuffer random(String name, int rows, int columns) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(2 * rows * columns).order(ByteOrder.LITTLE_ENDIAN);
        SplittableRandom random = new SplittableRandom(name.hashCode());
        float scale = (float) Math.sqrt(3.0 / columns) / (1 << 23);
        for (int i = 0; i < rows * columns / 2; i++) {
            long bits = random.nextLong();
            int pair = rows == 1
                    ? Bf16.pair(1, 1)
                    : Bf16.pair((((int) bits) >> 8) * scale, (((int) (bits >> 32)) >> 8) * scale);
            bytes.putInt(4 * i, pair);
        }
        return bytes;
    }
}
