/** Generates text with a mixture-of-experts model whose experts are spread over ranks by ep4j. */
@NullMarked
package org.ep4j.examples.llm;

import org.jspecify.annotations.NullMarked;
