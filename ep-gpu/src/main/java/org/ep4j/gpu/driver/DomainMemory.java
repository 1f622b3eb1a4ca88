package org.ep4j.gpu.driver;

/** Memory that GPUs of other hosts can map: new, or somebody else's. */
public interface DomainMemory {
    /** Where this GPU reaches it. */
    long address();

    long bytes();

    /** The handle by which others map it, in hexadecimal digits: twice {@link MemoryHandle#HANDLE_BYTES}. */
    String export();

    /** Takes back every step that was done, also when one fails, and reports the first failure. */
    void close();
}
