package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The last user frees, in any order. */
@Tag("verify")
final class LocalAllocationsTest {
    private static final AtomicInteger NEXT = new AtomicInteger(1);

    private static long address() {
        return 4096L * NEXT.getAndIncrement();
    }

    @Property
    void theLastUserFreesInAnyOrder(@ForAll @IntRange(min = 0, max = 8) int others, @ForAll long seed) {
        long address = address();
        AtomicInteger freed = new AtomicInteger();
        List<Runnable> users = new ArrayList<>();
        users.add(GpuSharing.LocalAllocations.add(address, freed::incrementAndGet));
        for (int i = 0; i < others; i++) {
            users.add(GpuSharing.LocalAllocations.retain(address).orElseThrow());
        }
        Collections.shuffle(users, new java.util.Random(seed));
        for (Runnable user : users) {
            assertThat(freed).hasValue(0);
            user.run();
            user.run();
        }
        assertThat(freed).hasValue(1);
        assertThat(GpuSharing.LocalAllocations.retain(address)).isEmpty();
    }

    @Test
    void aReusedAddressIsAnotherAllocation() {
        long address = address();
        AtomicInteger first = new AtomicInteger();
        AtomicInteger second = new AtomicInteger();
        Runnable early = GpuSharing.LocalAllocations.add(address, first::incrementAndGet);
        early.run();
        Runnable late = GpuSharing.LocalAllocations.add(address, second::incrementAndGet);
        early.run();
        assertThat(second).hasValue(0);
        late.run();
        assertThat(first).hasValue(1);
        assertThat(second).hasValue(1);
    }

    @Test
    void usersOnManyThreadsFreeOnce() throws InterruptedException {
        for (int round = 0; round < 200; round++) {
            long address = address();
            AtomicInteger freed = new AtomicInteger();
            List<Runnable> users = new ArrayList<>();
            users.add(GpuSharing.LocalAllocations.add(address, freed::incrementAndGet));
            users.add(GpuSharing.LocalAllocations.retain(address).orElseThrow());
            users.add(GpuSharing.LocalAllocations.retain(address).orElseThrow());
            List<Thread> threads = users.stream().map(Thread::new).toList();
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(freed).hasValue(1);
        }
    }
}
