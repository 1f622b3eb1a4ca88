package com.example.tcp;

import java.util.List;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Tag;

/** The whole kit, with ranks as threads and as processes. */
@Tag("all")
final class TcpWholeTckTest extends EpBackendTck {
    @Override
    protected TckSubject subject() {
        return TckSubject.of(TcpProvider.ID, "host");
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(4, 2);
    }
}
