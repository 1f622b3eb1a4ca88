package org.ep4j.engine.buffer;

import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.sync.Waits;

/** Sizes and memory of a buffer, as results read them. */
public interface BufferState {
    EpShape shape();

    ExpertPlacement placement();

    int ranks();

    int localExperts();

    Waits waits();

    /** This rank's memory that other ranks read and write; a recovery that moves the buffer replaces it. */
    DeviceMemory symmetric();

    BufferLayout symmetricLayout();

    Tensor tensor(LocalLayout.HighThroughput region, DataType type, long... dims);

    /** A low-latency result of operation {@code number}, whose parity is the bank. */
    Tensor tensor(long number, LocalLayout.LowLatency region, DataType type, long... dims);

    /** A tensor in a part of {@code memory} of exactly its size. */
    static Tensor tensor(DeviceMemory memory, long offset, DataType type, long... dims) {
        long bytes = type.bytes(1);
        for (long dim : dims) {
            bytes *= dim;
        }
        return Tensor.of(memory.slice(offset, bytes), type, dims);
    }
}
