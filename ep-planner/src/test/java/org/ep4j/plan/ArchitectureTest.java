package org.ep4j.plan;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Tag;

/** What ep-planner may and may not do. */
@Tag("verify")
@AnalyzeClasses(
        packages = {"org.ep4j.doctor", "org.ep4j.plan", "org.ep4j.topology.model", "org.ep4j.topology.read"},
        importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule nothingPrints =
            noClasses().should().accessField(System.class, "out").orShould().accessField(System.class, "err");

    @ArchTest
    static final ArchRule nothingNamesAnEngineOrABackend = classes()
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "org.ep4j",
                    "org.ep4j.spi",
                    "org.ep4j.config",
                    "org.ep4j.doctor",
                    "org.ep4j.plan..",
                    "org.ep4j.topology..",
                    "java..",
                    "javax.xml.stream..",
                    "org.jspecify..",
                    "com.google.common..");

    @ArchTest
    static final ArchRule nothingNeedsNativeCode = noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("java.lang.foreign..", "sun.misc..", "com.sun.jna..", "org.bytedeco..");

    @ArchTest
    static final ArchRule staticFieldsDoNotChange =
            fields().that().areStatic().should().beFinal();

    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("org.ep4j.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule publicClassesAreFinal = classes()
            .that()
            .arePublic()
            .and()
            .areNotInterfaces()
            .and()
            .areNotEnums()
            .should()
            .haveModifier(JavaModifier.FINAL);
}
