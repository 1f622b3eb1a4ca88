package org.ep4j.engine.membership;

import com.sun.jna.Native;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpUnavailableException;
import org.ep4j.transport.memory.NativeMethods;

/**
 * An open file with a lock (flock(2)) that one rank holds as long as its process lives. The POSIX lock of {@code FileChannel.lock}
 * belongs to the process; this one belongs to the open file, so ranks that are threads of one process have locks of their own. Linux
 * only.
 */
final class LivenessFile implements AutoCloseable {
    /** {@code asm-generic/fcntl.h}, which x86-64 and AArch64 share. */
    private static final int O_RDWR = 2;

    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    private static final int OWNER_ONLY = 0600;
    private static final int LOCK_SH = 1;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int LOCK_UN = 8;

    /** {@code asm-generic/mman-common.h}. */
    private static final int PROT_READ_WRITE = 3;

    private static final int MAP_SHARED = 1;
    private static final long MAP_FAILED = -1;

    /** {@code linux/falloc.h}: frees pages and keeps the size of the file. */
    private static final int PUNCH_HOLE_KEEP_SIZE = 3;

    /** First byte of the file of a rank that has left its group. */
    private static final byte[] LEFT = {'L'};

    private final Calls calls;
    private final int descriptor;

    private LivenessFile(Calls calls, int descriptor) {
        this.calls = calls;
        this.descriptor = descriptor;
    }

    /**
     * Creates a new file, readable by its owner only, and takes its lock.
     *
     * @throws IOException also when the C library cannot be called
     */
    static LivenessFile create(Path path) throws IOException {
        LivenessFile file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
        if (file.calls.flock(file.descriptor, LOCK_EX | LOCK_NB) != 0) {
            file.close();
            throw new IOException("another process took the lock of " + path);
        }
        return file;
    }

    static LivenessFile open(Path path) throws IOException {
        return open(path, O_RDWR | O_CLOEXEC);
    }

    private static LivenessFile open(Path path, int flags) throws IOException {
        Calls calls;
        try {
            calls = new Calls();
        } catch (EpUnavailableException | LinkageError e) {
            throw new IOException("the C library cannot be called: " + e.getMessage(), e);
        }
        int descriptor = calls.open(NativeMethods.pathBytes(path), flags, OWNER_ONLY);
        if (descriptor < 0) {
            throw new IOException("open of " + path + " failed with errno " + Native.getLastError());
        }
        return new LivenessFile(calls, descriptor);
    }

    /** Device and inode, which identify this file independently of its name. */
    String id() throws IOException {
        return id(Path.of("/proc/self/fd/" + descriptor));
    }

    /** Device and inode of the file that has a name now. */
    static String id(Path path) throws IOException {
        Map<String, Object> values = Files.readAttributes(path, "unix:dev,ino");
        return values.get("dev") + ":" + values.get("ino");
    }

    /** Returns whether the lock is free. Several ranks may ask at once. Does not block. */
    boolean isUnlocked() {
        if (calls.flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
            return false;
        }
        calls.flock(descriptor, LOCK_UN);
        return true;
    }

    /** Marks the file of a rank that leaves its group, before it closes the file. */
    void markLeft() {
        calls.pwrite(descriptor, LEFT, LEFT.length, 0);
    }

    /** Writes bytes behind the mark of {@link #markLeft}. */
    void write(long offset, byte[] bytes) throws IOException {
        long written = calls.pwrite(descriptor, bytes, bytes.length, offset);
        if (written != bytes.length) {
            throw new IOException(
                    "only " + written + " of " + bytes.length + " bytes were written, errno " + Native.getLastError());
        }
    }

    /** Reads bytes; those behind the end of the file are zero. */
    byte[] read(long offset, int length) throws IOException {
        byte[] bytes = new byte[length];
        if (calls.pread(descriptor, bytes, length, offset) < 0) {
            throw new IOException("pread failed with errno " + Native.getLastError());
        }
        return bytes;
    }

    /** A mapping of a part of a file, which stays when the file is closed. */
    record Mapping(Calls calls, DeviceMemory memory) implements AutoCloseable {
        /** Must not be called twice. */
        @Override
        public void close() {
            calls.munmap(memory.address(), memory.byteSize());
        }
    }

    /**
     * Allocates memory for a part of the file, which is zero if it was not written yet.
     *
     * @throws IOException if there is no room for it
     */
    void allocate(long offset, long bytes) throws IOException {
        int errno = calls.posix_fallocate(descriptor, offset, bytes);
        if (errno != 0) {
            throw new IOException("posix_fallocate of " + bytes + " bytes failed with errno " + errno);
        }
    }

    /**
     * Maps a part of the file. It can be used once the rank that owns the file has {@linkplain #allocate allocated} it.
     *
     * @param offset a multiple of a page
     */
    Mapping map(long offset, long bytes) throws IOException {
        long address = calls.mmap(0, bytes, PROT_READ_WRITE, MAP_SHARED, descriptor, offset);
        if (address == MAP_FAILED) {
            throw new IOException("mmap of " + bytes + " bytes failed with errno " + Native.getLastError());
        }
        return new Mapping(calls, DeviceMemory.of(address, bytes, Device.HOST));
    }

    /** Frees the memory of a part. A process that still maps it may write there, which allocates it again. */
    void free(long offset, long bytes) {
        calls.fallocate(descriptor, PUNCH_HOLE_KEEP_SIZE, offset, bytes);
    }

    /** Returns whether the rank that held the lock has left its group. */
    boolean isMarkedLeft() {
        byte[] content = new byte[LEFT.length];
        return calls.pread(descriptor, content, content.length, 0) == content.length && Arrays.equals(content, LEFT);
    }

    /** Closes the file, which frees the lock if this rank holds it. Must not be called twice. */
    @Override
    public void close() {
        calls.close(descriptor);
    }

    /** Bindings of the C library. */
    static final class Calls {
        Calls() {
            NativeMethods.bindToC(Calls.class);
        }

        // open(2) takes its mode as a variable argument; on 64-bit Linux an int goes the same way either way.
        native int open(byte[] path, int flags, int mode);

        native int close(int descriptor);

        native int flock(int descriptor, int operation);

        native long pread(int descriptor, byte[] to, long count, long offset);

        native long pwrite(int descriptor, byte[] from, long count, long offset);

        native int posix_fallocate(int descriptor, long offset, long bytes);

        native int fallocate(int descriptor, int mode, long offset, long bytes);

        native long mmap(long address, long bytes, int protection, int flags, int descriptor, long offset);

        native int munmap(long address, long bytes);
    }
}
