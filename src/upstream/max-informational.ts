/**
 * Informational responses before a final one, on every way to an upstream. Go's client stops at 5; a legitimate upstream
 * sends a 100, some 103s and a few 102s. Heads are not flow-controlled: without a limit they fill the memory for a client
 * that does not read.
 */
export const MAX_INFORMATIONAL = 20;
