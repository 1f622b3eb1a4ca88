package org.ep4j.tck.posted;

import java.util.List;
import java.util.regex.Pattern;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;

/** Some rules between emulated GPUs, one of which maps a peer, posts to one by kernels, and to one by threads of the host. */
class SeveralWaysGpuTckTest extends EpBackendTck {
    /** Exchanges of both modes, and a rank that does not come; {@code -Dep.argLine='-Dep.test.rules=[346]\..*'} runs three chapters. */
    private static final Pattern RULES = Pattern.compile(System.getProperty("ep.test.rules", "3\\.10|4\\.10|6\\.4"));

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PutThreadsProvider.ID, "cuda")
                .without(Capability.PROCESSES)
                .with(SeveralWaysGpuTest.settings(SeveralWaysGpuTest.PUT, SeveralWaysGpuTest.SENT))
                .with(NamedPairs.class);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(4);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> RULES.matcher(rule.id()).matches())
                .toList();
    }
}
