package com.example.tcp;

import java.util.List;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Tag;

/** Some rules of every chapter of the kit but that of GPUs, with ranks as threads and as processes. */
@Tag("verify")
final class TcpTckTest extends EpBackendTck {
    private static final String SOME =
            "1\\..*|2\\.(6|10)|[345]\\.\\d*0|6\\.(2|9|21)|7\\.[12]|8\\.(1|6|32|64)|9\\.1|11\\.7";

    @Override
    protected TckSubject subject() {
        return TckSubject.of(TcpProvider.ID, "host");
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream().filter(rule -> rule.id().matches(SOME)).toList();
    }
}
