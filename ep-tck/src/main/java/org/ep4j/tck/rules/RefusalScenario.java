package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.DispatchHandle;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.LowLatencyHandle;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** One {@link Refusal} on every rank; afterwards the buffer works as if nothing had happened. */
final class RefusalScenario implements Scenario {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Params PARAMS = Params.parse("tokens=6 hidden=128 topk=3 max=8 seed=3");

    @Override
    public void run(RankContext context) {
        String name = context.params().text("case", "");
        Refusal refusal = Refusal.all().stream()
                .filter(r -> r.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no such case: " + name));
        Setup setup = new Setup(PARAMS, context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        EpBuffer other = context.buffer(setup.shape());
        HighThroughputExchange exchange = context.owned(
                new HighThroughputExchange(context, buffer, setup.workload(), HighThroughputOptions.of(PARAMS)));
        LowLatencyExchange packed =
                context.owned(new LowLatencyExchange(context, buffer, setup.workload(), LowLatencyOptions.of(PARAMS)));
        DispatchHandle handle = exchange.dispatch().handle();
        LowLatencyHandle lowLatencyHandle = packed.dispatch().handle();
        Refusal.Table table = new Refusal.Table(context, buffer, other, handle, lowLatencyHandle);
        EpException refused = Checks.within(
                LIMIT,
                "the refusal of " + refusal.text(),
                () -> Checks.refused(
                        refusal.type(), refusal.text(), () -> refusal.action().run(table)));
        Checks.mentions(refused, refusal.mention());
        if (refused instanceof EpArgumentException argument) {
            Checks.that(
                    !argument.name().isBlank()
                            && !argument.value().isBlank()
                            && !argument.limit().isBlank()
                            && !argument.fix().isBlank(),
                    "the refusal must give name, value, limit and fix, but is: " + argument.getMessage());
        }
        Checks.that(String.valueOf(refused.getMessage()).length() > 20, "the refusal explains nothing: " + refused);
        exchange.combine(handle);
        packed.verify(packed.combine(lowLatencyHandle, packed.outputs()));
        LifecycleScenario.highThroughput(context, buffer, PARAMS);
        LifecycleScenario.lowLatency(context, buffer, PARAMS);
    }
}
