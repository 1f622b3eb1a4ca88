package org.ep4j.backend.host;

import com.sun.jna.Native;
import java.nio.file.Path;
import org.ep4j.engine.memory.NativeMethods;
import org.ep4j.engine.memory.NativePath;

/**
 * The calls of the C library that shared memory needs, on 64-bit Linux. Having an instance proves that they are bound.
 *
 * <p>Constants are those of {@code asm-generic/fcntl.h} and {@code asm-generic/mman-common.h}, which x86-64, AArch64,
 * POWER, RISC-V and s390x share.
 */
final class Libc {
    private static final int O_RDWR = 2;
    private static final int O_CREAT = 0x40;
    private static final int O_EXCL = 0x80;
    private static final int O_CLOEXEC = 0x80000;
    private static final int OWNER_ONLY = 0600;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_SHARED = 1;

    private Libc() {}

    /**
     * Binds the calls, once for the process.
     *
     * @throws org.ep4j.EpUnavailableException when JNA cannot start here
     * @throws LinkageError when the C library lacks a call
     */
    static Libc load() {
        NativeMethods.bindToC(Libc.class);
        return new Libc();
    }

    /** Creates a file that was not there, readable and writable by its owner alone, closed on exec. */
    int create(Path path) {
        return opened(open(NativePath.bytes(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, OWNER_ONLY), path);
    }

    /** Opens a file for reading and writing, closed on exec. */
    int openExisting(Path path) {
        return opened(open(NativePath.bytes(path), O_RDWR | O_CLOEXEC, 0), path);
    }

    private static int opened(int descriptor, Path path) {
        if (descriptor < 0) {
            throw new NativeCallException("open", path.toString(), lastError());
        }
        return descriptor;
    }

    /** Takes the exclusive lock of an open file; false when somebody else has it. The kernel frees it when we die. */
    boolean tryLock(int descriptor, Path path) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        Errno error = lastError();
        if (error.number() == Errno.EAGAIN) {
            return false;
        }
        throw new NativeCallException("flock", path.toString(), error);
    }

    /** Gives a part of a file real space, and the file at least that length; false when a signal came in between. */
    boolean allocate(int descriptor, long offset, long length, Path path) {
        int error = posix_fallocate(descriptor, offset, length);
        if (error != 0 && error != Errno.EINTR) {
            throw new NativeCallException("posix_fallocate", path.toString(), errno(error));
        }
        return error == 0;
    }

    /** Maps the first {@code length} bytes of a file, shared; gives the address. */
    long map(int descriptor, long length, Path path) {
        long address = mmap(0, length, PROT_READ_WRITE, MAP_SHARED, descriptor, 0);
        if (address == -1) {
            throw new NativeCallException("mmap", path.toString(), lastError());
        }
        return address;
    }

    void unmap(long address, long length) {
        if (munmap(address, length) != 0) {
            throw new NativeCallException("munmap", "0x" + Long.toHexString(address), lastError());
        }
    }

    /** Removes a name; nothing happens when it is gone already. */
    void remove(Path path) {
        if (unlink(NativePath.bytes(path)) != 0) {
            Errno error = lastError();
            if (error.number() != Errno.ENOENT) {
                throw new NativeCallException("unlink", path.toString(), error);
            }
        }
    }

    /** Closes a descriptor. Linux frees it whatever the call returns, so there is nothing to report. */
    void closeDescriptor(int descriptor) {
        close(descriptor);
    }

    /** Effective user id. */
    int userId() {
        return geteuid();
    }

    private static Errno lastError() {
        return errno(Native.getLastError());
    }

    private static Errno errno(int number) {
        String text = strerror(number);
        return new Errno(number, text == null ? "" : text);
    }

    // open(2) takes its mode as a variable argument; on 64-bit Linux an int goes the same way either way.
    private static native int open(byte[] path, int flags, int mode);

    private static native int close(int descriptor);

    private static native int unlink(byte[] path);

    private static native int flock(int descriptor, int operation);

    private static native int posix_fallocate(int descriptor, long offset, long length);

    private static native long mmap(long address, long length, int protection, int flags, int descriptor, long offset);

    private static native int munmap(long address, long length);

    private static native int geteuid();

    private static native String strerror(int number);
}
