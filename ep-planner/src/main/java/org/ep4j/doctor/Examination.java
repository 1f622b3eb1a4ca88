package org.ep4j.doctor;

import java.util.List;
import org.ep4j.spi.Check;

/** A group of checks without state. */
interface Examination {
    /** One check for each of its codes. */
    List<Check> examine(DoctorInput input);
}
