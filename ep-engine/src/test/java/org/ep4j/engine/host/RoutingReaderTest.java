package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.sync.Mask;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RoutingReaderTest {
    private static final int MOST_TOKENS = 700;
    private static final int SHAPES = 60;
    private static final int DRAWS = 8;

    private final Random random = new Random(29);

    /** Ranks, experts and top-k, and where the experts are; some ranks may have none. */
    private final class Model {
        private final int ranks = 1 + random.nextInt(6);
        private final int topK = 1 + random.nextInt(8);
        private final int experts = topK + random.nextInt(20);
        private final ExpertPlacement placement =
                ExpertPlacement.of(ranks, random.ints(experts, 0, ranks).toArray());
        private final RoutingReader reader = new RoutingReader(
                EpShape.builder(256, experts, topK).maxTokens(MOST_TOKENS).build(), placement);
        private final Routing routing = new Routing(topK, ranks);

        private Mask mask() {
            return Mask.of(IntStream.range(0, ranks)
                    .filter(r -> random.nextInt(3) == 0)
                    .boxed()
                    .collect(Collectors.toSet()));
        }
    }

    /** Ids of tokens in memory of their own. */
    private static final class Ids {
        private final ByteBuffer memory;
        private final Tensor tensor;

        Ids(long[] ids, int topK, DataType type) {
            memory = ByteBuffer.allocateDirect(Math.max(8, (int) type.bytes(ids.length)))
                    .order(ByteOrder.nativeOrder());
            for (int i = 0; i < ids.length; i++) {
                if (type == DataType.INT32) {
                    memory.putInt(4 * i, (int) ids[i]);
                } else {
                    memory.putLong(8 * i, ids[i]);
                }
            }
            DeviceMemory all = DeviceMemory.of(HostMemory.address(memory), memory.capacity(), Device.HOST)
                    .keeping(memory);
            tensor = Tensor.of(all.slice(0, type.bytes(ids.length)), type, ids.length / topK, topK);
        }

        private void read(RoutingReader reader, Mask mask, Routing routing) {
            reader.read(tensor, HostMemory.of(memory), (int) tensor.dim(0), mask, routing);
        }
    }

    private int tokens() {
        return random.nextInt(3) == 0 ? random.nextInt(3) : random.nextInt(MOST_TOKENS + 1);
    }

    /** Compares with sets of ranks. */
    @Test
    void everyTokenGoesToEachRankOfItsExpertsOnce() {
        for (int shape = 0; shape < SHAPES; shape++) {
            Model model = new Model();
            Mask mask = Mask.NONE;
            for (int draw = 0; draw < DRAWS; draw++) {
                int tokens = tokens();
                long[] ids = random.longs((long) tokens * model.topK, -1, model.experts)
                        .toArray();
                mask = random.nextInt(3) == 0 ? model.mask() : mask;
                DataType type = random.nextBoolean() ? DataType.INT32 : DataType.INT64;
                new Ids(ids, model.topK, type).read(model.reader, mask, model.routing);
                compare(model, ids, mask, "shape " + shape + ", draw " + draw);
                assertThat(model.routing.tokens).isEqualTo(tokens);
                assertThat(model.routing.idType).isEqualTo(type);
            }
        }
    }

    private static void compare(Model model, long[] ids, Mask mask, String name) {
        Routing routing = model.routing;
        int[] rowsTo = new int[model.ranks];
        for (int t = 0; t < ids.length / model.topK; t++) {
            Set<Integer> targets = new LinkedHashSet<>();
            for (int i = t * model.topK; i < (t + 1) * model.topK; i++) {
                int id = (int) ids[i];
                boolean sent = id >= 0 && !mask.has(model.placement.rankOf(id));
                assertThat(routing.ids[i]).as(name).isEqualTo(sent ? id : -1);
                if (sent) {
                    targets.add(model.placement.rankOf(id));
                }
            }
            targets.forEach(r -> rowsTo[r]++);
            List<Integer> got = new ArrayList<>();
            for (int i = routing.firstTarget[t]; i < routing.firstTarget[t + 1]; i++) {
                got.add(routing.targets[i]);
            }
            assertThat(got).as("%s, token %d", name, t).containsExactlyElementsOf(targets);
        }
        assertThat(routing.rowsTo).as(name).isEqualTo(rowsTo);
        assertThat(routing.targetCount())
                .as(name)
                .isEqualTo(IntStream.of(rowsTo).sum());
    }

    @Test
    void refusesWhatIsNoExpert() {
        ExpertPlacement placement = ExpertPlacement.block(17, 5);
        RoutingReader reader =
                new RoutingReader(EpShape.builder(256, 17, 4).maxTokens(2).build(), placement);
        Routing routing = new Routing(4, 5);
        for (long bad :
                new long[] {17, -2, Integer.MAX_VALUE, Integer.MIN_VALUE, 1L << 32, (1L << 40) - 1, Long.MIN_VALUE}) {
            for (DataType type : List.of(DataType.INT32, DataType.INT64)) {
                if (type == DataType.INT32 && bad != (int) bad) {
                    continue;
                }
                long[] ids = {0, 1, 2, 3, 4, -1, bad, 5};
                assertThatThrownBy(() -> new Ids(ids, 4, type).read(reader, Mask.NONE, routing))
                        .as("%d as %s", bad, type)
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("[1][2]")
                        .hasMessageContaining(Long.toString(bad));
            }
        }
    }
}
