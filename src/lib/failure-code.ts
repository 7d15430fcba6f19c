/** The code of a failure of the system, such as ENOENT, for a message. */
export function failureCode(cause: unknown, otherwise = 'unreadable'): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : otherwise;
}
