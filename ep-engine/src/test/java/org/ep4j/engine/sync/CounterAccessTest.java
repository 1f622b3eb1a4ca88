package org.ep4j.engine.sync;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.memory.Words;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Counters are stored with release and loaded with acquire: whoever sees one advanced sees the bytes before it. Processors that keep
 * the order of plain stores, as x86 ones do, run a plain one rightly, so the code is looked at and not its results.
 */
final class CounterAccessTest {
    private static final Set<String> PLAIN =
            Set.of("putLong", "getLong", "putInt", "getInt", "putInts", "getInts", "putBytes", "getBytes", "copy");

    private static JavaClasses engine;

    @BeforeAll
    static void read() {
        engine = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("org.ep4j.engine.sync", "org.ep4j.engine.host", "org.ep4j.engine.memory");
    }

    @Test
    void codeThatPlacesACounterStoresItWithReleaseAndLoadsItWithAcquire() {
        List<String> plain = new ArrayList<>();
        Set<String> ordered = new TreeSet<>();
        engine.that(resideInAPackage("org.ep4j.engine.sync..").or(resideInAPackage("org.ep4j.engine.host..")))
                .forEach(type -> type.getCodeUnits().forEach(unit -> {
                    if (!calls(unit, BufferLayout.class, Set.of("counter"))) {
                        return;
                    }
                    for (JavaMethodCall call : unit.getMethodCallsFromSelf()) {
                        if (call.getTargetOwner().isAssignableTo(Words.class) && PLAIN.contains(call.getName())) {
                            plain.add(call.getDescription());
                        }
                    }
                    if (calls(unit, Words.class, Set.of("putLongRelease"))) {
                        ordered.add("store in " + unit.getName());
                    }
                    if (calls(unit, Words.class, Set.of("getLongAcquire"))) {
                        ordered.add("load in " + unit.getName());
                    }
                }));
        assertThat(plain)
                .as("plain accesses beside a counter: its reader could see the counter before the bytes")
                .isEmpty();
        assertThat(ordered)
                .as("code units that access counters with release and acquire")
                .contains("store in advance", "load in seen", "load in heard");
    }

    @Test
    void memoryOfTheHostStoresWithReleaseAndLoadsWithAcquire() {
        assertThat(accesses("putLongRelease")).as("how putLongRelease stores").containsExactly("setRelease");
        assertThat(accesses("getLongAcquire")).as("how getLongAcquire loads").containsExactly("getAcquire");
    }

    private static List<String> accesses(String method) {
        return engine.get(HostMemory.class).getMethods().stream()
                .filter(one -> one.getName().equals(method))
                .flatMap(one -> one.getMethodCallsFromSelf().stream())
                .filter(call -> call.getTargetOwner().isEquivalentTo(VarHandle.class))
                .map(JavaMethodCall::getName)
                .toList();
    }

    private static boolean calls(JavaCodeUnit unit, Class<?> owner, Set<String> names) {
        return unit.getMethodCallsFromSelf().stream()
                .anyMatch(call -> call.getTargetOwner().isAssignableTo(owner) && names.contains(call.getName()));
    }
}
