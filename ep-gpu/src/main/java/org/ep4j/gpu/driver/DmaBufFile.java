package org.ep4j.gpu.driver;

import com.sun.jna.NativeLibrary;
import org.ep4j.spi.ExposedMemory;

/**
 * A dma-buf that a driver has given out.
 *
 * @param dmaBuf its descriptor, which this process owns, and where the memory begins in it
 */
public record DmaBufFile(ExposedMemory.DmaBuf dmaBuf) implements NicMemory.File {
    @Override
    public void close() {
        NativeLibrary.getInstance("c").getFunction("close").invokeInt(new Object[] {dmaBuf.descriptor()});
    }
}
