package org.ep4j.engine.buffer;

import java.util.Optional;
import org.ep4j.CombineRequest;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.EpArgumentException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.transport.memory.DeviceAllocation;

/**
 * The tensors of one request. Refuses those in memory that other ranks read and write, and those that overlap one that the operation
 * writes; retains their memory while the operation runs. Safe for use from several threads once it is made.
 */
public final class RequestTensors {
    private static final int MOST = 15;

    private final String[] names = new String[MOST];
    private final Tensor[] tensors = new Tensor[MOST];
    private int count;
    /** Number of tensors that the operation writes, which come first. */
    private int written;

    private RequestTensors() {}

    public static RequestTensors of(DispatchRequest request) {
        return new RequestTensors()
                .write("out", request.out())
                .write("outScales", request.outScales())
                .write("outTopkIds", request.outTopkIds())
                .write("outTopkWeights", request.outTopkWeights())
                .write("outSourceRanks", request.outSourceRanks())
                .write("outSourceTokens", request.outSourceTokens())
                .write("outRowsPerSource", request.outRowsPerSource())
                .write("outRowsPerExpert", request.outRowsPerExpert())
                .write("outExpertOffsets", request.outExpertOffsets())
                .write("expertStats", request.expertStats())
                .write("waitStats", request.waitStats())
                .read("x", request.x())
                .read("topkIds", request.topkIds())
                .read("topkWeights", request.topkWeights())
                .read("scales", request.scales());
    }

    public static RequestTensors of(CombineRequest request) {
        RequestTensors all = new RequestTensors()
                .write("out", request.out())
                .write("outWeights", request.outWeights())
                .write("waitStats", request.waitStats())
                .read("x", request.x())
                .read("weights", request.weights());
        for (Tensor bias : request.bias()) {
            all.read("bias", bias);
        }
        return all;
    }

    public static RequestTensors of(LowLatencyDispatchRequest request) {
        return received(request)
                .read("x", request.x())
                .read("topkIds", request.topkIds())
                .read("topkWeights", request.topkWeights());
    }

    public static RequestTensors of(LowLatencyCombineRequest request) {
        return new RequestTensors()
                .write("out", request.out())
                .write("waitStats", request.waitStats())
                .read("x", request.x())
                .read("topkWeights", request.topkWeights());
    }

    public static RequestTensors received(LowLatencyDispatchRequest request) {
        return new RequestTensors()
                .write("out", request.out())
                .write("outScales", request.outScales())
                .write("outRowsPerExpert", request.outRowsPerExpert())
                .write("outSourceTokens", request.outSourceTokens())
                .write("outLayoutRanges", request.outLayoutRanges())
                .write("expertStats", request.expertStats())
                .write("waitStats", request.waitStats());
    }

    public static RequestTensors received(LowLatencyCombineRequest request) {
        return new RequestTensors()
                .write("out", request.out())
                .write("waitStats", request.waitStats())
                .read("topkWeights", request.topkWeights());
    }

    private RequestTensors write(String name, Optional<Tensor> tensor) {
        if (tensor.isPresent()) {
            read(name, tensor.get());
            written = count;
        }
        return this;
    }

    private RequestTensors read(String name, Optional<Tensor> tensor) {
        return tensor.isPresent() ? read(name, tensor.get()) : this;
    }

    private RequestTensors read(String name, Tensor tensor) {
        names[count] = name;
        tensors[count] = tensor;
        count++;
        return this;
    }

    /**
     * Checks a request none of whose tensors may lie in symmetric memory.
     *
     * @param symmetric this rank's memory that other ranks read and write
     * @throws EpArgumentException if one does, or if one that is written overlaps another one
     * @throws org.ep4j.EpStateException if one lies in memory that is closed
     */
    public RequestTensors check(DeviceMemory symmetric) {
        requireOwn(symmetric, -1);
        requireDistinct();
        return this;
    }

    /** Checks a high-throughput combine, whose x may be the rows of a dispatch, or {@code combineInput()}. See {@link #check}. */
    public RequestTensors checkCombine(DeviceMemory symmetric, BufferLayout layout) {
        int x = written;
        requireOwn(symmetric, x);
        if (overlaps(tensors[x], symmetric)) {
            long from = tensors[x].address() - symmetric.address();
            long to = from + tensors[x].byteSize();
            boolean rows = from >= layout.rows() && to <= layout.rows() + layout.rowsBytes();
            boolean input = from >= layout.combineArea() && to <= layout.combineArea() + layout.combineInputBytes();
            if (!rows && !input) {
                throw refusal(names[x]);
            }
        }
        requireDistinct();
        return this;
    }

    private void requireOwn(DeviceMemory symmetric, int exempt) {
        for (int i = 0; i < count; i++) {
            DeviceAllocation.requireOpen(names[i], tensors[i].memory());
            if (i != exempt && overlaps(tensors[i], symmetric)) {
                throw refusal(names[i]);
            }
        }
    }

    private static EpArgumentException refusal(String name) {
        return new EpArgumentException(
                name,
                "in the buffer's symmetric memory",
                "in memory that other ranks neither read nor write",
                "pass memory that you allocated; only the x of a combine may be the rows of its dispatch or combineInput()");
    }

    private void requireDistinct() {
        for (int i = 0; i < written; i++) {
            for (int j = i + 1; j < count; j++) {
                if (overlaps(tensors[i], tensors[j].address(), tensors[j].byteSize()) && !isInPlace(i, j)) {
                    throw new EpArgumentException(
                            names[i],
                            "overlapping " + names[j],
                            "memory that no other tensor of the call uses",
                            "pass a tensor in other memory, or leave this tensor out");
                }
            }
        }
    }

    /** Returns whether a sum replaces its bias: each element is read before it is written, by the same thread or warp. */
    private boolean isInPlace(int i, int j) {
        return names[i].equals("out") && names[j].equals("bias") && tensors[i].address() == tensors[j].address();
    }

    private static boolean overlaps(Tensor tensor, DeviceMemory memory) {
        return overlaps(tensor, memory.address(), memory.byteSize());
    }

    private static boolean overlaps(Tensor tensor, long address, long bytes) {
        // An empty range overlaps nothing, not even in the middle of another one.
        return tensor.byteSize() > 0
                && bytes > 0
                && Long.compareUnsigned(tensor.address(), address + bytes) < 0
                && Long.compareUnsigned(address, tensor.address() + tensor.byteSize()) < 0;
    }

    /**
     * Retains the memory of all tensors until {@link #release}, also if another thread closes it meanwhile.
     *
     * @throws org.ep4j.EpStateException if one lies in memory that is closed; then none is retained
     */
    public void retain() {
        for (int i = 0; i < count; i++) {
            if (owner(i) instanceof DeviceAllocation tracked && !tracked.retain()) {
                release(i);
                throw tracked.closed(names[i]);
            }
        }
    }

    /** Ends one {@link #retain}. It reads every owner, which keeps direct buffers reachable until here. */
    public void release() {
        release(count);
    }

    private void release(int end) {
        for (int i = 0; i < end; i++) {
            if (owner(i) instanceof DeviceAllocation tracked) {
                tracked.release();
            }
        }
    }

    private Object owner(int i) {
        return tensors[i].memory().owner().orElse(this);
    }
}
