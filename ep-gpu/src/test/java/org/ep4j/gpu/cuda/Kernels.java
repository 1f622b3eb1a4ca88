package org.ep4j.gpu.cuda;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.DeviceMemory;
import org.ep4j.transport.memory.HostMemory;

/** Launches kernels whose argument is a structure of numbers of 8 bytes each, and reads memory. */
final class Kernels {
    private Kernels() {}

    static void launch(
            CudaDevice device, long kernel, int blocks, int threads, int sharedBytes, long stream, long... words) {
        ByteBuffer arguments = ByteBuffer.allocateDirect(8 + 8 * words.length).order(ByteOrder.nativeOrder());
        long address = HostMemory.address(arguments);
        arguments.putLong(address + 8);
        for (long word : words) {
            arguments.putLong(word);
        }
        try {
            device.launch(kernel, blocks, threads, sharedBytes, stream, address);
        } finally {
            Reference.reachabilityFence(arguments);
        }
    }

    static ByteBuffer read(CudaDevice device, DeviceMemory memory) {
        ByteBuffer bytes = buffer((int) memory.byteSize());
        device.download(memory, bytes);
        return bytes.flip();
    }

    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder());
    }
}
