package org.ep4j.transport.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ShortBuffer;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpUnavailableException;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;

/** A device as the engine holds it: allocations one by one, and its end. Safe for use from several threads. */
public interface EngineDevice extends EpDevice, AutoCloseable {
    /**
     * Returns {@code device} as what a provider of the engine opened.
     *
     * @throws EpUnavailableException when it is of another kind
     */
    static EngineDevice of(EpDevice device) {
        if (device instanceof EngineDevice own) {
            return own;
        }
        throw new EpUnavailableException(device.id() + " is not a device of ep4j's engine");
    }

    /**
     * Allocates zeroed memory, aligned to at least 256 bytes. On a GPU, closing the allocation may wait for all work of this process on
     * that GPU, operations of other buffers and ranks among it.
     *
     * @throws org.ep4j.EpResourceException when there is not enough
     */
    DeviceAllocation allocate(long bytes);

    /** Returns what the measurements of {@code ./ep tune} on this device depend on, for its rank in a group. */
    default Fingerprint fingerprint(GroupPlan plan, int rank) {
        return Fingerprint.ofHost(plan, rank);
    }

    @Override
    default TensorArena arena() {
        return new DeviceArena(this, this::allocate);
    }

    @Override
    default float[] floats(Tensor tensor) {
        ByteBuffer bytes = read(tensor, List.of(DataType.BF16, DataType.FP32));
        float[] values = new float[(int) tensor.elements()];
        if (tensor.type() == DataType.FP32) {
            bytes.asFloatBuffer().get(values);
        } else {
            ShortBuffer narrow = bytes.asShortBuffer();
            for (int i = 0; i < values.length; i++) {
                values[i] = DataType.fromBf16(narrow.get(i));
            }
        }
        return values;
    }

    @Override
    default int[] ints(Tensor tensor) {
        ByteBuffer bytes = read(tensor, List.of(DataType.INT32));
        int[] values = new int[(int) tensor.elements()];
        bytes.asIntBuffer().get(values);
        return values;
    }

    @Override
    default long[] longs(Tensor tensor) {
        ByteBuffer bytes = read(tensor, List.of(DataType.INT64));
        long[] values = new long[(int) tensor.elements()];
        bytes.asLongBuffer().get(values);
        return values;
    }

    private ByteBuffer read(Tensor tensor, List<DataType> types) {
        if (!types.contains(tensor.type())) {
            throw new EpArgumentException("tensor", tensor.type(), "of type " + types, "download its bytes");
        }
        if (tensor.byteSize() > Integer.MAX_VALUE) {
            throw new EpArgumentException(
                    "tensor",
                    tensor.byteSize() + " bytes",
                    "at most " + Integer.MAX_VALUE + " bytes",
                    "read some rows");
        }
        ByteBuffer bytes = ByteBuffer.allocateDirect((int) tensor.byteSize()).order(ByteOrder.nativeOrder());
        download(tensor.memory(), bytes);
        return bytes.flip();
    }

    /** Closes the device, which its holder does; allocations are freed by their own {@code close}. */
    @Override
    void close();
}
