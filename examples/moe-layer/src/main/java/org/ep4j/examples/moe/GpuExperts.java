package org.ep4j.examples.moe;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.ep4j.DataType;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuKernels;

/** Experts by the kernel of {@code experts.cu}, on the stream of the operations around it: nothing waits on the host. */
final class GpuExperts implements Experts {
    private static final int THREADS = 256;

    private final Weights weights;
    private final EpBuffer buffer;
    private final GpuDevice device;
    private final GpuKernels kernels;
    private final GpuKernels packed;
    private final Memory memory;
    private final Tensor matrices;
    private final Tensor out;
    private final long stream;

    GpuExperts(Weights weights, EpBuffer buffer, GpuDevice device, long stream) {
        this.weights = weights;
        this.buffer = buffer;
        this.device = device;
        this.stream = stream;
        this.kernels = GpuKernels.load(device, "experts.cu", source("experts.cu"));
        this.packed = GpuKernels.load(device, "packed_experts.cu", source("packed_experts.cu"));
        this.memory = new Memory(device);
        this.matrices = memory.shorts(localMatrices(), localExperts(), weights.hidden(), weights.hidden());
        // Every selection of every token could come here; in low latency the result goes where the caller says.
        long most = buffer.shape().receiveCapacity(buffer.group().size()) * weights.topK();
        this.out = memory.allocate(DataType.BF16, most, weights.hidden());
    }

    private int localExperts() {
        return buffer.placement().localExperts(buffer.group().rank());
    }

    private short[] localMatrices() {
        int size = weights.hidden() * weights.hidden();
        short[] all = new short[localExperts() * size];
        for (int e = 0; e < weights.experts(); e++) {
            if (buffer.placement().rankOf(e) == buffer.group().rank()) {
                System.arraycopy(
                        weights.matrices()[e], 0, all, buffer.placement().localIndex(e) * size, size);
            }
        }
        return all;
    }

    @Override
    public Tensor apply(DispatchResult arrived) {
        // How many rows there are stands in device memory, where the kernel reads it.
        kernels.launch(
                "experts",
                device.facts().processors(),
                THREADS,
                0,
                stream,
                arrived.x().address(),
                arrived.topkWeights().orElseThrow().address(),
                arrived.expertOffsets().address(),
                matrices.address(),
                out.address(),
                localExperts(),
                weights.hidden());
        return Tensor.of(
                out.memory().slice(0, arrived.rows() * weights.hidden() * 2L),
                DataType.BF16,
                arrived.rows(),
                weights.hidden());
    }

    @Override
    public Tensor apply(LowLatencyDispatchResult arrived, Tensor result) {
        packed.launch(
                "packed_experts",
                device.facts().processors(),
                THREADS,
                0,
                stream,
                arrived.x().address(),
                arrived.counts().address(),
                matrices.address(),
                result.address(),
                localExperts(),
                weights.hidden(),
                arrived.x().dim(1));
        return result;
    }

    private static String source(String name) {
        try (InputStream in = GpuExperts.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException(name + " is missing from the jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        kernels.close();
        packed.close();
        memory.close();
    }
}
