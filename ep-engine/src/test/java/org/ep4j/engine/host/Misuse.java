package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.ep4j.engine.host.Exchanges.EXPERTS;
import static org.ep4j.engine.host.Exchanges.HIDDEN;
import static org.ep4j.engine.host.Exchanges.IDS;
import static org.ep4j.engine.host.Exchanges.LOCAL;
import static org.ep4j.engine.host.Exchanges.SHAPE;
import static org.ep4j.engine.host.Exchanges.SHORT;
import static org.ep4j.engine.host.Exchanges.TIMEOUT;
import static org.ep4j.engine.host.Exchanges.TOKENS;
import static org.ep4j.engine.host.Exchanges.TOPK;
import static org.ep4j.engine.host.Exchanges.TWICE;
import static org.ep4j.engine.host.Exchanges.combine;
import static org.ep4j.engine.host.Exchanges.copied;
import static org.ep4j.engine.host.Exchanges.dispatch;
import static org.ep4j.engine.host.Exchanges.dispatched;
import static org.ep4j.engine.host.Exchanges.expertRows;
import static org.ep4j.engine.host.Exchanges.gradients;
import static org.ep4j.engine.host.Exchanges.idRefused;
import static org.ep4j.engine.host.Exchanges.ids;
import static org.ep4j.engine.host.Exchanges.mismatch;
import static org.ep4j.engine.host.Exchanges.pack;
import static org.ep4j.engine.host.Exchanges.recovered;
import static org.ep4j.engine.host.Exchanges.refused;
import static org.ep4j.engine.host.Exchanges.unpack;
import static org.ep4j.engine.host.Exchanges.weights;
import static org.ep4j.engine.host.Exchanges.whenWaiting;
import static org.ep4j.engine.host.Exchanges.x;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;

/** Ways to misuse a buffer of two ranks. Each ends with a precise exception or a right result, and never with a crash or a hang. */
@SuppressWarnings("ImmutableEnumChecker") // scenarios are lambdas without state
enum Misuse {
    /** Rank 1 combines while rank 0 dispatches. */
    OTHER_ORDER_ON_THE_RANKS(ranks -> {
        List<DispatchResult> before = dispatched(ranks);
        mismatch(ranks, "same order", rank -> {
            if (rank.is(0)) {
                dispatch(rank);
            } else {
                DispatchResult mine = before.get(1);
                combine(rank, mine.x(), mine);
            }
        });
        recovered(ranks);
    }),
    /** Rank 1 begins a low-latency dispatch while rank 0 begins a high-throughput one. */
    OTHER_MODE_ON_THE_RANKS(ranks -> {
        mismatch(ranks, "same order", rank -> {
            if (rank.is(0)) {
                dispatch(rank);
            } else {
                pack(rank);
            }
        });
        recovered(ranks);
    }),
    OTHER_OPTIONS_ON_THE_RANKS(ranks -> {
        mismatch(ranks, "dispatch (weights)", rank -> {
            DispatchRequest.Builder request = DispatchRequest.of(x(rank), ids(rank));
            if (rank.is(0)) {
                request.topkWeights(weights(rank));
            }
            rank.buffer().dispatch(request.build());
        });
        recovered(ranks);
    }),
    /** Gradients of rank 0 are in other codes than those of rank 1. */
    OTHER_GRADIENTS_ON_THE_RANKS(ranks -> {
        List<DispatchResult> before = dispatched(ranks);
        mismatch(ranks, "cached dispatch (FP8 rows, FP8 rows in E5M2 codes, routing of dispatch 1)", rank -> {
            DataType type = rank.is(0) ? DataType.FP8_E5M2 : DataType.FP8_E4M3;
            rank.buffer()
                    .dispatch(gradients(rank, type, before.get(rank.number())).build());
        });
        recovered(ranks);
    }),
    OTHER_MASKS_ON_THE_RANKS(3, ranks -> {
        List<Optional<Throwable>> outcomes = ranks.outcomes(rank -> {
            if (rank.is(0)) {
                rank.buffer().mask(2);
            }
            if (!rank.is(2)) {
                dispatch(rank, OpOptions.DEFAULT.timeout(Duration.ofSeconds(2)));
            }
        });
        // Rank 0 waits for rank 1 to agree on the mask, which is in the dispatch already, and hears what rank 0 waits
        // for.
        assertThat(outcomes.get(0)).get().isInstanceOfAny(EpMismatchException.class, EpTimeoutException.class);
        assertThat(outcomes.get(0).orElseThrow()).hasMessageContaining("rank 1");
        assertThat(outcomes.get(1)).get().isInstanceOf(EpMismatchException.class);
        assertThat(outcomes.get(1).orElseThrow())
                .hasMessageContaining("rank 0")
                .hasMessageContaining("has masked other ranks than this one");
    }),
    OTHER_SHAPE_ON_THE_RANKS(ranks -> ranks.all(rank -> {
        EpShape shape =
                EpShape.builder(rank.is(0) ? 128 : 144, 4, 2).maxTokens(4).build();
        refused(EpMismatchException.class, "hidden", () -> rank.group().createBuffer(shape));
    })),
    HANDLE_OF_ANOTHER_BUFFER(ranks -> ranks.all(rank -> {
        DispatchResult mine = dispatch(rank);
        LowLatencyDispatchResult packed = pack(rank);
        try (EpBuffer other = rank.group().createBuffer(SHAPE)) {
            refused(
                    EpStateException.class,
                    "handle is of another buffer",
                    () -> other.combine(
                            CombineRequest.of(mine.x(), mine.handle()).build()));
            refused(
                    EpStateException.class,
                    "handle is of another buffer",
                    () -> other.combine(LowLatencyCombineRequest.of(packed.x(), packed.handle())
                            .build()));
            refused(
                    EpStateException.class,
                    "handle is of another buffer",
                    () -> other.dispatch(
                            DispatchRequest.cached(x(rank), mine.handle()).build()));
            rank.meet();
        }
    })),
    HANDLE_OF_A_CLOSED_BUFFER(ranks -> ranks.all(rank -> {
        EpBuffer gone = rank.group().createBuffer(SHAPE);
        DispatchResult old =
                gone.dispatch(DispatchRequest.of(x(rank), ids(rank)).build());
        Tensor rows = old.x();
        rank.meet();
        gone.close();
        refused(
                EpStateException.class,
                "closed",
                () -> rank.buffer()
                        .combine(CombineRequest.of(x(rank), old.handle()).build()));
        refused(EpStateException.class, "closed", old::x);
        refused(
                EpArgumentException.class,
                "buffer-1, which is closed",
                () -> rank.buffer()
                        .dispatch(DispatchRequest.of(Tensor.of(rows.memory(), DataType.BF16, TOKENS, HIDDEN), ids(rank))
                                .build()));
    })),
    RESULT_READ_AFTER_THE_NEXT_OPERATION(ranks -> ranks.all(rank -> {
        DispatchResult old = dispatch(rank);
        dispatch(rank);
        refused(EpStateException.class, "stale", old::x);
        refused(EpStateException.class, "stale", old::sourceRanks);
    })),
    LOW_LATENCY_RESULT_READ_AFTER_TWO_OPERATIONS(ranks -> ranks.all(rank -> {
        LowLatencyDispatchResult old = pack(rank);
        pack(rank);
        assertThat(old.x().dim(2)).isEqualTo(HIDDEN);
        pack(rank);
        refused(EpStateException.class, "stale", old::x);
        refused(EpStateException.class, "stale", old::counts);
    })),
    /** Routing does not get stale: the caller brings the rows. */
    OLD_HANDLE(ranks -> ranks.all(rank -> {
        DispatchResult old = dispatch(rank);
        Tensor rows = copied(rank, old.x());
        LowLatencyDispatchResult oldPacked = pack(rank);
        Tensor packedRows = copied(rank, oldPacked.x());
        for (int i = 0; i < 3; i++) {
            dispatch(rank);
            pack(rank);
        }
        assertThat(rank.values(combine(rank, rows, old))).isEqualTo(TWICE);
        assertThat(rank.values(unpack(rank, packedRows, oldPacked))).isEqualTo(TWICE);
    })),
    TWO_COMBINES_OF_ONE_HANDLE(ranks -> ranks.all(rank -> {
        DispatchResult mine = dispatch(rank);
        LowLatencyDispatchResult packed = pack(rank);
        for (int i = 0; i < 3; i++) {
            assertThat(rank.values(combine(rank, mine.x(), mine))).isEqualTo(TWICE);
            assertThat(rank.values(unpack(rank, packed.x(), packed))).isEqualTo(TWICE);
        }
    })),
    USE_AFTER_CLOSE_OF_THE_BUFFER(
            true,
            ranks -> ranks.all(rank -> {
                DispatchResult mine = dispatch(rank);
                LowLatencyDispatchResult packed = pack(rank);
                LowLatencyDispatchResult hooked = rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(x(rank), ids(rank))
                                .hook()
                                .build());
                Tensor rows = packed.x();
                rank.meet();
                EpBuffer buffer = rank.buffer();
                buffer.close();
                List<ThrowingCallable> uses = List.of(
                        () -> dispatch(rank),
                        () -> combine(rank, rows, mine),
                        () -> pack(rank),
                        () -> unpack(rank, rows, packed),
                        () -> buffer.layout(ids(rank)),
                        buffer::combineInput,
                        buffer::lowLatencyCombineInput,
                        () -> buffer.mask(1 - rank.number()),
                        () -> buffer.clearMask(SHORT),
                        () -> buffer.recover(SHORT),
                        hooked::receive,
                        mine::x,
                        mine::rows,
                        mine::tokensPerExpert,
                        packed::counts);
                uses.forEach(use -> refused(EpStateException.class, "closed", use));
                assertThat(buffer.shape()).isEqualTo(SHAPE);
                assertThat(buffer.toString()).contains("buffer-0");
            })),
    USE_AFTER_CLOSE_OF_THE_GROUP(
            true,
            ranks -> ranks.all(rank -> {
                DispatchResult mine = dispatch(rank);
                rank.meet();
                rank.group().close();
                refused(EpStateException.class, "closed", () -> dispatch(rank));
                refused(EpStateException.class, "closed", () -> rank.group().createBuffer(SHAPE));
                refused(EpStateException.class, "closed", () -> rank.group().barrier(SHORT));
                refused(EpStateException.class, "closed", mine::x);
                rank.group().close();
            })),
    VIEW_AFTER_CLOSE(
            true,
            ranks -> ranks.all(rank -> {
                DispatchResult mine = dispatch(rank);
                Tensor rows = mine.x();
                Tensor input = rank.buffer().lowLatencyCombineInput();
                List<Float> before = rank.values(rows);
                var view = rank.view(rows);
                rank.meet();
                rank.buffer().close();
                refused(EpStateException.class, "buffer-0, which is closed", () -> rank.view(rows));
                refused(
                        EpStateException.class,
                        "buffer-0, which is closed",
                        () -> rank.group().device().view(rows.memory().slice(16, 16)));
                refused(EpStateException.class, "bytes, which is closed", () -> rank.view(input));
                refused(
                        EpStateException.class,
                        "which is closed",
                        () -> rank.group().device().download(rows.memory(), java.nio.ByteBuffer.allocate(16)));
                refused(
                        EpStateException.class,
                        "which is closed",
                        () -> rank.group().device().upload(java.nio.ByteBuffer.allocate(16), rows.memory()));
                rank.meet();
                rank.group().close();
                assertThat(view.getShort(0)).isEqualTo(ThreadRanks.bf16(before.get(0)));
            })),
    /** The group stays open, so there is no device that could be asked. */
    OUT_OVER_DISPATCHED_ROWS(ranks -> ranks.all(rank -> {
        DispatchResult mine = dispatch(rank);
        Tensor out = Tensor.of(mine.x().memory(), DataType.BF16, TOKENS, HIDDEN);
        refused(
                EpArgumentException.class,
                "out is at",
                () -> rank.buffer()
                        .combine(CombineRequest.of(mine.x(), mine.handle())
                                .out(out)
                                .build()));
        assertThat(rank.values(combine(rank, mine.x(), mine))).isEqualTo(TWICE);
    })),
    OUT_OVER_INPUT(ranks -> ranks.all(rank -> {
        DispatchResult mine = dispatch(rank);
        Tensor x = copied(rank, mine.x());
        Tensor out = Tensor.of(x.memory().slice(32, 2L * TOKENS * HIDDEN), DataType.BF16, TOKENS, HIDDEN);
        refused(
                EpArgumentException.class,
                "apart from x",
                () -> rank.buffer()
                        .combine(CombineRequest.of(x, mine.handle()).out(out).build()));
    })),
    TENSOR_OVER_A_CLOSED_ALLOCATION(
            true,
            ranks -> ranks.all(rank -> {
                DeviceAllocation allocation = rank.group().device().allocate(1 << 20);
                DeviceMemory memory = allocation.memory();
                allocation.close();
                Tensor rows = Tensor.of(memory, DataType.BF16, TOKENS, HIDDEN);
                Tensor ids = Tensor.of(memory, DataType.INT32, TOKENS, TOPK);
                DispatchResult mine = dispatch(rank);
                List<ThrowingCallable> uses = List.of(
                        () -> rank.buffer()
                                .dispatch(DispatchRequest.of(rows, ids(rank)).build()),
                        () -> rank.buffer()
                                .dispatch(DispatchRequest.of(x(rank), ids).build()),
                        () -> rank.buffer()
                                .dispatch(LowLatencyDispatchRequest.of(rows, ids(rank))
                                        .build()),
                        () -> rank.buffer()
                                .combine(CombineRequest.of(mine.x(), mine.handle())
                                        .out(rows)
                                        .build()),
                        () -> rank.buffer().layout(ids));
                uses.forEach(use ->
                        refused(EpArgumentException.class, "an allocation of 1048576 bytes, which is closed", use));
            })),
    /** What is queued when its memory is closed fails, and what runs keeps it. */
    ALLOCATION_CLOSED_BEFORE_ITS_OPERATION_RUNS(
            true,
            ranks -> ranks.all(rank -> {
                DeviceAllocation allocation = rank.group().device().allocate(1 << 20);
                Tensor rows = Tensor.of(allocation.memory(), DataType.BF16, TOKENS, HIDDEN);
                CompletableFuture<Void> gate = new CompletableFuture<>();
                DispatchResult later = rank.buffer()
                        .dispatch(DispatchRequest.of(rows, ids(rank))
                                .options(OpOptions.DEFAULT.asynchronous().after(EpEvent.of(gate)))
                                .build());
                allocation.close();
                gate.complete(null);
                refused(
                        EpStateException.class,
                        "an allocation of 1048576 bytes, which is closed",
                        () -> later.event().await(SHORT));
                refused(EpStateException.class, "which is closed", later::x);
            })),
    /** The memory of an operation with the hook is closed before its receiving half. */
    ALLOCATION_CLOSED_BEFORE_RECEIVE(
            true,
            ranks -> ranks.all(rank -> {
                DeviceAllocation allocation = rank.group().device().allocate(1 << 20);
                Tensor out = Tensor.of(allocation.memory(), DataType.BF16, LOCAL, 2L * TOKENS, HIDDEN);
                LowLatencyDispatchResult sent = rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(x(rank), ids(rank))
                                .out(out)
                                .hook()
                                .build());
                allocation.close();
                refused(EpStateException.class, "which is closed", sent::receive);
                rank.meet();
            })),
    HOOK_NOT_RECEIVED_BEFORE_THE_NEXT_OPERATIONS(ranks -> ranks.all(rank -> {
        LowLatencyDispatchRequest request =
                LowLatencyDispatchRequest.of(x(rank), ids(rank)).hook().build();
        LowLatencyDispatchResult first = rank.buffer().dispatch(request);
        LowLatencyDispatchResult second = rank.buffer().dispatch(request);
        refused(
                EpStateException.class,
                "receive() of low-latency dispatch number 1 has not been called",
                () -> rank.buffer().dispatch(request));
        refused(EpStateException.class, "has not been received", first::x);
        refused(EpStateException.class, "has not been received", () -> unpack(rank, expertRows(rank), first));
        first.receive();
        second.receive();
        assertThat(rank.values(rank.buffer()
                        .combine(LowLatencyCombineRequest.of(second.x(), second.handle())
                                .topkWeights(weights(rank))
                                .build())
                        .out()))
                .isEqualTo(TWICE);
    })),
    RECEIVE_TWICE(ranks -> ranks.all(rank -> {
        LowLatencyDispatchResult sent = rank.buffer()
                .dispatch(
                        LowLatencyDispatchRequest.of(x(rank), ids(rank)).hook().build());
        sent.receive();
        refused(EpStateException.class, "receive() was called before", sent::receive);
        refused(EpStateException.class, "receive() goes with the hook option", pack(rank)::receive);
    })),
    INTERRUPT_WHILE_WAITING(ranks -> {
        ranks.all(rank -> {
            if (rank.is(0)) {
                Thread me = Thread.currentThread();
                whenWaiting(me::interrupt);
                long start = System.nanoTime();
                refused(EpStateException.class, "interrupted while", () -> dispatch(rank));
                assertThat(Thread.interrupted())
                        .as("the thread's interrupt status")
                        .isTrue();
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TIMEOUT);
            }
        });
        recovered(ranks);
    }),
    CLOSE_WHILE_AN_OPERATION_WAITS(
            true,
            ranks -> ranks.all(rank -> {
                if (rank.is(0)) {
                    whenWaiting(rank.buffer()::close);
                    refused(EpStateException.class, "closed while", () -> dispatch(rank));
                    refused(EpStateException.class, "closed", () -> dispatch(rank));
                }
            })),
    CLOSE_WHILE_AN_ASYNCHRONOUS_OPERATION_WAITS(
            true,
            ranks -> ranks.all(rank -> {
                if (rank.is(0)) {
                    DispatchResult waiting = dispatch(rank, OpOptions.DEFAULT.asynchronous());
                    DispatchResult queued = dispatch(rank, OpOptions.DEFAULT.asynchronous());
                    Thread.sleep(50);
                    rank.buffer().close();
                    refused(
                            EpStateException.class,
                            "closed",
                            () -> waiting.event().await(SHORT));
                    refused(
                            EpStateException.class,
                            "closed",
                            () -> queued.event().await(SHORT));
                    refused(EpStateException.class, "closed", waiting::x);
                }
            })),
    ASYNCHRONOUS_RESULT_IGNORED(
            true,
            ranks -> ranks.all(rank -> {
                for (int i = 0; i < 20; i++) {
                    DispatchResult ignored = dispatch(rank, OpOptions.DEFAULT.asynchronous());
                    assertThat(ignored.event()).isNotNull();
                }
                rank.buffer().close();
            })),
    CLOSE_TWICE_FROM_TWO_THREADS(
            true,
            ranks -> ranks.all(rank -> {
                dispatch(rank);
                rank.meet();
                List<CompletableFuture<Void>> closing = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    closing.add(CompletableFuture.runAsync(rank.buffer()::close));
                    closing.add(CompletableFuture.runAsync(rank.group()::close));
                }
                closing.forEach(CompletableFuture::join);
                refused(EpStateException.class, "closed", () -> dispatch(rank));
            })),
    OPERATION_AFTER_ONE_THAT_FAILED(ranks -> ranks.all(rank -> {
        CompletableFuture<Void> failed = CompletableFuture.failedFuture(new IllegalStateException("an expert broke"));
        refused(
                EpException.class,
                "an expert broke",
                () -> dispatch(rank, OpOptions.DEFAULT.after(EpEvent.of(failed))));
    })),
    WRONG_TYPE(ranks -> ranks.all(rank -> {
        refused(
                EpArgumentException.class,
                "x is",
                () -> rank.buffer()
                        .dispatch(DispatchRequest.of(rank.tensor(DataType.FP32, TOKENS, HIDDEN), ids(rank))
                                .build()));
        refused(
                EpArgumentException.class,
                "topkIds is",
                () -> rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(x(rank), rank.tensor(DataType.FP32, TOKENS, TOPK))
                                .build()));
    })),
    WRONG_SHAPE(ranks -> ranks.all(rank -> {
        refused(
                EpArgumentException.class,
                "x is of shape",
                () -> rank.buffer()
                        .dispatch(DispatchRequest.of(rank.tensor(DataType.BF16, TOKENS, HIDDEN * 2), ids(rank))
                                .build()));
        refused(
                EpArgumentException.class,
                "topkIds is of shape",
                () -> rank.buffer()
                        .dispatch(DispatchRequest.of(x(rank), rank.tensor(DataType.INT32, TOKENS - 1, TOPK))
                                .build()));
        DispatchResult mine = dispatch(rank);
        refused(
                EpArgumentException.class,
                "out is of shape",
                () -> rank.buffer()
                        .combine(CombineRequest.of(mine.x(), mine.handle())
                                .out(rank.tensor(DataType.BF16, TOKENS + 1, HIDDEN))
                                .build()));
    })),
    /** What is wrong with gradients is what is wrong with rows. */
    WRONG_GRADIENTS(ranks -> ranks.all(rank -> {
        DispatchResult mine = dispatch(rank);
        EpBuffer buffer = rank.buffer();
        Tensor fp8 = rank.tensor(DataType.FP8_E5M2, TOKENS, HIDDEN);
        refused(
                EpArgumentException.class,
                "scales is absent, must be present with FP8 rows",
                () -> buffer.dispatch(DispatchRequest.cached(fp8, mine.handle()).build()));
        refused(
                EpArgumentException.class,
                "scales is present, must be absent with BF16 rows",
                () -> buffer.dispatch(DispatchRequest.cached(x(rank), mine.handle())
                        .scales(rank.tensor(DataType.FP32, TOKENS, 1))
                        .build()));
        refused(
                EpArgumentException.class,
                "out is BF16, must be of type [FP8_E5M2]",
                () -> buffer.dispatch(gradients(rank, DataType.FP8_E5M2, mine)
                        .out(expertRows(rank))
                        .build()));
        refused(
                EpArgumentException.class,
                "x is FP8_E5M2, must be of type [BF16]",
                () -> combine(rank, rank.tensor(DataType.FP8_E5M2, mine.rows(), HIDDEN), mine));
    })),
    EXPERT_THAT_DOES_NOT_EXIST(ranks -> ranks.all(rank -> idRefused(rank, EXPERTS))),
    NEGATIVE_EXPERT(ranks -> ranks.all(rank -> {
        idRefused(rank, -2);
        idRefused(rank, Integer.MIN_VALUE);
    })),
    /** Ids that name an expert only when their upper half is dropped. */
    EXPERT_BEYOND_32_BITS(ranks -> ranks.all(rank -> {
        for (long id : new long[] {1L << 32, (1L << 32) + 1, -1L << 32, 0xffffffffL, Long.MIN_VALUE, Long.MAX_VALUE}) {
            long[] ids = new long[TOKENS * TOPK];
            ids[TOPK] = id;
            Tensor wide = rank.longs(ids, TOKENS, TOPK);
            List<ThrowingCallable> uses = List.of(
                    () -> rank.buffer()
                            .dispatch(DispatchRequest.of(x(rank), wide).build()),
                    () -> rank.buffer()
                            .dispatch(
                                    LowLatencyDispatchRequest.of(x(rank), wide).build()),
                    () -> rank.buffer().layout(wide));
            uses.forEach(use ->
                    refused(EpArgumentException.class, "topkIds[1][0] is " + id + ", must be -1 or in [0, 4)", use));
        }
    })),
    TOO_MANY_EXPERTS_A_TOKEN(ranks -> ranks.all(rank -> {
        refused(
                EpArgumentException.class,
                "topK",
                () -> EpShape.builder(HIDDEN, 64, 33).maxTokens(4).build());
        refused(
                EpArgumentException.class,
                "topkIds",
                () -> rank.buffer()
                        .dispatch(DispatchRequest.of(x(rank), rank.tensor(DataType.INT32, TOKENS, TOPK + 1))
                                .build()));
    })),
    MEMORY_OF_ANOTHER_DEVICE(
            true,
            ranks -> ranks.all(rank -> {
                DeviceMemory there = new DeviceMemory(1 << 20, 1 << 20, new Device("cuda", 0));
                Tensor rows = Tensor.of(there, DataType.BF16, TOKENS, HIDDEN);
                Tensor ids = Tensor.of(there, DataType.INT32, TOKENS, TOPK);
                refused(
                        EpArgumentException.class,
                        "x is on cuda:0",
                        () -> rank.buffer()
                                .dispatch(DispatchRequest.of(rows, ids(rank)).build()));
                refused(
                        EpArgumentException.class,
                        "topkIds is on cuda:0",
                        () -> rank.buffer()
                                .dispatch(DispatchRequest.of(x(rank), ids).build()));
                refused(
                        EpArgumentException.class,
                        "topkIds is on cuda:0",
                        () -> rank.buffer().layout(ids));
                refused(
                        EpArgumentException.class,
                        "cuda:0",
                        () -> rank.group().device().view(there));
            })),
    MISALIGNED_MEMORY(ranks -> ranks.all(rank -> {
        Tensor larger = rank.tensor(DataType.BF16, TOKENS + 1, HIDDEN);
        Tensor shifted = Tensor.of(larger.memory().slice(2, larger.byteSize() - 2), DataType.BF16, TOKENS, HIDDEN);
        refused(
                EpArgumentException.class,
                "multiple of 16",
                () -> rank.buffer()
                        .dispatch(DispatchRequest.of(shifted, ids(rank)).build()));
        refused(
                EpArgumentException.class,
                "multiple of 4",
                () -> Tensor.of(larger.memory().slice(2, 64), DataType.INT32, 4));
    })),
    RECOVER_OF_ONE_RANK_ALONE(ranks -> {
        ranks.all(rank -> {
            if (rank.is(0)) {
                long start = System.nanoTime();
                refused(EpTimeoutException.class, "recover", () -> rank.buffer().recover(SHORT));
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(SHORT, SHORT.plusSeconds(5));
            }
        });
        recovered(ranks);
    }),
    MASK_OF_ITSELF(ranks -> ranks.all(rank -> refused(
            EpArgumentException.class,
            "cannot leave itself out",
            () -> rank.buffer().mask(rank.number())))),
    MASK_OF_NO_RANK(ranks -> ranks.all(rank -> {
        refused(EpArgumentException.class, "rank is -1", () -> rank.buffer().mask(-1));
        refused(EpArgumentException.class, "rank is 2", () -> rank.buffer().mask(2));
    })),
    TOO_MANY_TOKENS(ranks -> ranks.all(rank -> {
        Tensor x = rank.tensor(DataType.BF16, TOKENS + 1, HIDDEN);
        Tensor ids = rank.tensor(DataType.INT32, TOKENS + 1, TOPK);
        refused(
                EpArgumentException.class,
                "at most maxTokens = " + TOKENS,
                () -> rank.buffer().dispatch(DispatchRequest.of(x, ids).build()));
        refused(
                EpArgumentException.class,
                "at most maxLowLatencyTokens = " + TOKENS,
                () -> rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(x, ids).build()));
    })),
    /** Rank 1 has no tokens, and then nobody has. */
    NO_TOKENS(ranks -> ranks.all(rank -> {
        for (int most : new int[] {TOKENS, 0}) {
            int tokens = rank.is(0) ? most : 0;
            Tensor x = rank.rows(tokens, t -> 1f + t);
            Tensor ids = rank.ints(Arrays.copyOf(IDS, tokens * TOPK), tokens, TOPK);
            DispatchResult mine =
                    rank.buffer().dispatch(DispatchRequest.of(x, ids).build());
            assertThat(mine.rows()).isEqualTo(most);
            List<Float> twice = TWICE.subList(0, tokens);
            assertThat(rank.values(combine(rank, mine.x(), mine))).isEqualTo(twice);
            LowLatencyDispatchResult packed =
                    rank.buffer().dispatch(LowLatencyDispatchRequest.of(x, ids).build());
            Tensor ones = rank.floats(new float[tokens * TOPK], tokens, TOPK);
            for (int i = 0; i < tokens * TOPK; i++) {
                rank.view(ones).putFloat(4 * i, 1);
            }
            assertThat(rank.values(rank.buffer()
                            .combine(LowLatencyCombineRequest.of(packed.x(), packed.handle())
                                    .topkWeights(ones)
                                    .build())
                            .out()))
                    .isEqualTo(twice);
        }
    })),
    NO_WEIGHTS_ANYWHERE(ranks -> ranks.all(rank -> {
        LowLatencyDispatchResult packed = rank.buffer()
                .dispatch(LowLatencyDispatchRequest.of(x(rank), ids(rank)).build());
        refused(
                EpArgumentException.class,
                "topkWeights is absent",
                () -> rank.buffer()
                        .combine(LowLatencyCombineRequest.of(packed.x(), packed.handle())
                                .build()));
    })),
    /** Operations of two threads come in some order, the same on both ranks only by chance; here both do the same. */
    TWO_THREADS_AT_ONCE(ranks -> ranks.all(rank -> {
        List<CompletableFuture<Void>> both = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            both.add(CompletableFuture.runAsync(() -> dispatch(rank)));
        }
        both.forEach(CompletableFuture::join);
    }));

    private final int ranks;
    private final boolean ends;
    private final Scenario scenario;

    /** What the ranks do. */
    interface Scenario {
        void run(ThreadRanks ranks);
    }

    Misuse(Scenario scenario) {
        this(2, false, scenario);
    }

    /** {@code ends}: the buffer cannot be used afterwards, or a crash is what must not happen: it runs in a JVM of its own. */
    Misuse(boolean ends, Scenario scenario) {
        this(2, ends, scenario);
    }

    Misuse(int ranks, Scenario scenario) {
        this(ranks, false, scenario);
    }

    Misuse(int ranks, boolean ends, Scenario scenario) {
        this.ranks = ranks;
        this.ends = ends;
        this.scenario = scenario;
    }

    /** True where a JVM of its own shows a crash. */
    boolean mayCrash() {
        return ends;
    }

    /** Does it; ends with an AssertionError when the library does not stand it. */
    void run() {
        try (ThreadRanks all = new ThreadRanks(ranks, SHAPE, TIMEOUT)) {
            scenario.run(all);
            if (!ends && ranks == 2) {
                // What was refused has changed nothing.
                all.all(rank -> {
                    DispatchResult mine = dispatch(rank);
                    assertThat(rank.values(combine(rank, mine.x(), mine))).isEqualTo(TWICE);
                    LowLatencyDispatchResult packed = pack(rank);
                    assertThat(rank.values(unpack(rank, packed.x(), packed))).isEqualTo(TWICE);
                });
            }
        }
    }

    /** The case of that name, alone in this process. */
    public static void main(String[] args) {
        valueOf(args[0]).run();
        System.out.println("stood " + args[0]);
    }
}
