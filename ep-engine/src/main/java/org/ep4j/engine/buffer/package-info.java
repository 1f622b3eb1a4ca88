/**
 * Parts that buffers of the host engine and the GPU engine share: the API's buffer, checks of arguments, handles, results. No
 * transport and no counters.
 */
@NullMarked
package org.ep4j.engine.buffer;

import org.jspecify.annotations.NullMarked;
