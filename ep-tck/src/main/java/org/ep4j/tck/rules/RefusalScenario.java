package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.DispatchHandle;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.LowLatencyHandle;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** One {@link Refusal} on every rank; afterwards the buffer works as before. */
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
        String what = text(context.params());
        Setup setup = new Setup(context, PARAMS);
        EpBuffer buffer = setup.buffer();
        EpBuffer other = setup.buffer();
        HighThroughputExchange high = context.owned(new HighThroughputExchange(context, buffer, PARAMS));
        LowLatencyExchange low = context.owned(new LowLatencyExchange(context, buffer, PARAMS));
        DispatchHandle handle = high.dispatch().handle();
        LowLatencyHandle lowLatencyHandle = low.dispatch().handle();
        Refusal.Fixture fixture = new Refusal.Fixture(context, buffer, other, handle, lowLatencyHandle);
        EpException refused = Checks.within(
                LIMIT,
                "the refusal of " + what,
                () -> Checks.refused(refusal.type(), what, () -> refusal.call().run(fixture)));
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
        high.verify(high.combine(handle));
        low.verify(low.combine(lowLatencyHandle));
        HighThroughputExchange.run(context, buffer, PARAMS);
        LowLatencyExchange.run(context, buffer, PARAMS);
    }

    /** Returns the text of the rule with these parameters, without its prefix. */
    private static String text(Params params) {
        return RuleBook.all().stream()
                .filter(rule -> rule.scenario() == RefusalScenario.class
                        && rule.params().equals(params))
                .map(Rule::text)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no rule has " + params))
                .replaceFirst("^refused: ", "");
    }
}
