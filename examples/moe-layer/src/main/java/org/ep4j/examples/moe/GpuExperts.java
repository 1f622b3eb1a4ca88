package org.ep4j.examples.moe;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.ep4j.DataType;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;

/** Experts by the kernel of {@code experts.cu}, on the stream of the operations around it: nothing waits on the host. */
final class GpuExperts implements Experts {
    private static final int THREADS = 256;

    private final Weights weights;
    private final EpBuffer buffer;
    private final GpuDevice device;
    private final GpuKernels kernels;
    private final GpuKernel kernel;
    private final TensorArena arena;
    private final Tensor matrices;
    private final Tensor out;
    private final GpuStream stream;

    GpuExperts(Weights weights, EpBuffer buffer, GpuDevice device, GpuStream stream) {
        this.weights = weights;
        this.buffer = buffer;
        this.device = device;
        this.stream = stream;
        this.kernels = device.compile("experts.cu", source());
        this.kernel = kernels.kernel("experts", THREADS, 0);
        this.arena = device.arena();
        this.matrices = arena.bf16(localMatrices(), localExperts(), weights.hidden(), weights.hidden());
        // Every selection of every token could come here.
        long most = buffer.maxRows(RowLayout.BY_EXPERT, 1);
        this.out = arena.tensor(DataType.BF16, most, weights.hidden());
    }

    private int localExperts() {
        return buffer.placement().localExperts(buffer.group().rank());
    }

    private float[] localMatrices() {
        int size = weights.hidden() * weights.hidden();
        float[] all = new float[localExperts() * size];
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
        kernel.launch(
                stream,
                device.info().multiprocessors(),
                arrived.x().address(),
                arrived.topkWeights().orElseThrow().address(),
                arrived.expertOffsets().address(),
                matrices.address(),
                out.address(),
                localExperts(),
                weights.hidden());
        return out.rows(0, arrived.rows());
    }

    private static String source() {
        try (InputStream in = GpuExperts.class.getResourceAsStream("experts.cu")) {
            if (in == null) {
                throw new IllegalStateException("experts.cu is missing from the jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        kernels.close();
        arena.close();
    }
}
