package org.ep4j;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Tag;

/** What ep-api may and may not do. */
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
                    "org.ep4j.spi..",
                    "org.ep4j.plan..",
                    "org.ep4j.config..",
                    "org.ep4j.bootstrap..",
                    "org.ep4j.topology..",
                    "org.ep4j.doctor..",
                    "java..",
                    "javax.crypto..",
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
    static final ArchRule planningAndSettingsStandAlone = noClasses()
            .that()
            .resideInAnyPackage("org.ep4j.plan..", "org.ep4j.config..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.ep4j.bootstrap..");

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

    @ArchTest
    static final ArchRule bootstrapsInsideAreNotPublic = classes()
            .that()
            .resideInAPackage("org.ep4j.bootstrap")
            .and()
            .doNotHaveSimpleName("Bootstraps")
            .and()
            .doNotHaveSimpleName("InProcessBootstrap")
            .and()
            .doNotHaveSimpleName("TcpBootstrapProvider")
            .should()
            .notBePublic();
}
