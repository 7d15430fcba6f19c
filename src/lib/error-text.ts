/** What an error says. When every address of a host failed, the runtime's error has no text of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** The code of a failure of the system, such as ENOENT, for a message. */
export function failureCode(cause: unknown, otherwise = 'unreadable'): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : otherwise;
}
