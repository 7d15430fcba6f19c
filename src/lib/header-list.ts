/**
 * Flat: `[name, value, name, value, …]`, names in lower case, because headers arrive from the wire and leave to it in this form.
 * Framing (`content-length`, `transfer-encoding`, `connection`) is never included: the part that writes them computes it.
 */
export type HeaderList = readonly string[];
