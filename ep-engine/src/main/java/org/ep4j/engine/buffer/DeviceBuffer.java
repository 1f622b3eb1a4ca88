package org.ep4j.engine.buffer;

import java.time.Duration;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;

/** A buffer on one kind of device. Its views, {@link EngineBuffer}, check before each call that it is open and has the mode. */
public interface DeviceBuffer {
    BufferState state();

    BufferSize size();

    boolean isClosed();

    DispatchLayout dispatchLayout(Tensor topkIds);

    DispatchResult dispatch(DispatchRequest request, OpOptions options);

    CombineResult combine(CombineRequest request, OpOptions options);

    LowLatencyDispatchResult lowLatencyDispatch(LowLatencyDispatchRequest request, OpOptions options);

    CombineResult lowLatencyCombine(LowLatencyCombineRequest request, OpOptions options);

    /** Number of the last low-latency combine. */
    long lowLatencyCombines();

    void mask(int rank);

    void clearMasks(Duration timeout);

    Recovery recover(Duration timeout);

    void close();
}
