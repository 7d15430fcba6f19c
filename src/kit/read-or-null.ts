/**
 * What a directory makes of a stored record. Null for a record that it cannot read, which the API never wrote: it
 * counts as absent, gives no right, and is a problem (`unreadable` in src/control/findings/facts.ts). One record must
 * not end the program, or every start of it.
 */
export function readOrNull<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch {
    return null;
  }
}
