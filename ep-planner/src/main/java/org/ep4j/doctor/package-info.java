/**
 * For tools such as {@code ep doctor}: checks a machine, or a recording of one, for conditions that make transports
 * slow or fail, each with a stable code and a remedy ({@link Doctor}). Pure: files, settings and libraries are passed
 * in ({@link DoctorInput}). A backend's own checks belong in its probe.
 */
@NullMarked
package org.ep4j.doctor;

import org.jspecify.annotations.NullMarked;
