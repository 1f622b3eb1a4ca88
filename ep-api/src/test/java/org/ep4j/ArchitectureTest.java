package org.ep4j;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Tag;

/** Rules of dependencies and of code in ep-api. */
@Tag("verify")
@AnalyzeClasses(
        packages = "org.ep4j",
        importOptions = {ImportOption.DoNotIncludeTests.class, ArchitectureTest.NoTestSupport.class})
class ArchitectureTest {
    /** ep-testing is on the class path, too. */
    static final class NoTestSupport implements ImportOption {
        @Override
        public boolean includes(Location location) {
            return !location.contains("/org/ep4j/testing/");
        }
    }

    @ArchTest
    static final ArchRule nothingPrints =
            noClasses().should().accessField(System.class, "out").orShould().accessField(System.class, "err");

    @ArchTest
    static final ArchRule nothingNamesAnEngineOrABackend = classes()
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "org.ep4j",
                    "org.ep4j.config",
                    "org.ep4j.gpu",
                    "org.ep4j.spi",
                    "org.ep4j.topology",
                    "java..",
                    "org.apiguardian..",
                    "org.jspecify..");

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
            slices().matching("org.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule arrowsPointDown = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("users")
            .definedBy("org.ep4j")
            .layer("settings")
            .definedBy("org.ep4j.config")
            .layer("GPUs")
            .definedBy("org.ep4j.gpu")
            .layer("topology")
            .definedBy("org.ep4j.topology")
            .layer("SPI")
            .definedBy("org.ep4j.spi")
            .whereLayer("settings")
            .mayOnlyBeAccessedByLayers("SPI")
            .whereLayer("GPUs")
            .mayNotBeAccessedByAnyLayer()
            .whereLayer("topology")
            .mayOnlyBeAccessedByLayers("SPI")
            .whereLayer("SPI")
            .mayNotBeAccessedByAnyLayer();

    @ArchTest
    static final ArchRule publicClassesAreFinalOrMeantToBeExtended = classes()
            .that()
            .arePublic()
            .and()
            .areNotInterfaces()
            .and()
            .areNotEnums()
            .and()
            .doNotHaveSimpleName("EpException")
            .should()
            .haveModifier(JavaModifier.FINAL);
}
