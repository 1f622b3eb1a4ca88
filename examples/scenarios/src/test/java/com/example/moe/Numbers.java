package com.example.moe;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;
import org.ep4j.DataType;
import org.ep4j.EpDevice;
import org.ep4j.Tensor;

/** Inputs that every rank can compute for all ranks, and plain arithmetic for the references. */
final class Numbers {
    private Numbers() {}

    /** Nearest BF16 number. */
    static float bf16(float value) {
        return DataType.fromBf16(DataType.toBf16(value));
    }

    /** BF16 numbers between -1 and 1. */
    static float[] bf16(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = bf16((float) (2 * random.nextDouble() - 1));
        }
        return values;
    }

    /** Different experts for each token, {@code [tokens, topK]}; about one selection in eight is -1, none. */
    static int[] route(long seed, int tokens, int topK, int experts) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] ids = new int[tokens * topK];
        for (int i = 0; i < ids.length; i++) {
            int first = i - i % topK;
            do {
                ids[i] = random.nextInt(8) == 0 ? -1 : random.nextInt(experts);
            } while (ids[i] >= 0 && contains(ids, first, i, ids[i]));
        }
        return ids;
    }

    private static boolean contains(int[] ids, int from, int to, int id) {
        for (int i = from; i < to; i++) {
            if (ids[i] == id) {
                return true;
            }
        }
        return false;
    }

    /** Weights that are powers of two, so that a product with a BF16 number is exact. */
    static float[] weights(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] weights = new float[count];
        for (int i = 0; i < count; i++) {
            weights[i] = Math.scalb(1f, -random.nextInt(4));
        }
        return weights;
    }

    /** The bytes of BF16 numbers. */
    static ByteBuffer bytes(float[] values) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(2 * values.length).order(ByteOrder.nativeOrder());
        for (float value : values) {
            bytes.putShort(DataType.toBf16(value));
        }
        return bytes.flip();
    }

    /** The bytes of a tensor. */
    static byte[] bytes(EpDevice device, Tensor tensor) {
        byte[] bytes = new byte[(int) tensor.byteSize()];
        device.download(tensor.memory(), ByteBuffer.wrap(bytes));
        return bytes;
    }
}
