package org.ep4j.engine.bootstrap;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.Tag;

/** What bootstraps may and may not do. */
@Tag("verify")
@AnalyzeClasses(packages = "org.ep4j.engine.bootstrap", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule bootstrapsInsideAreNotPublic = classes()
            .that()
            .doNotHaveSimpleName("EngineBootstraps")
            .and()
            .doNotHaveSimpleName("TcpBootstrapProvider")
            .should()
            .notBePublic();

    @ArchTest
    static final ArchRule bootstrapsNeedNoNativeCodeAndOfTheEngineOnlyItsClockAndDeadlines = classes()
            .should()
            .onlyDependOnClassesThat(resideInAnyPackage(
                            "org.ep4j",
                            "org.ep4j.config",
                            "org.ep4j.spi",
                            "org.ep4j.engine.bootstrap",
                            "java..",
                            "javax.crypto..",
                            "org.jspecify..")
                    .or(equivalentTo(NanoClock.class))
                    .or(equivalentTo(Deadline.class)));

    @ArchTest
    static final ArchRule staticFieldsDoNotChange =
            fields().that().areStatic().should().beFinal();
}
