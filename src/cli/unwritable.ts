import { isDiskFull, whyUnwritable } from '../lib/error-text.ts';
import { usage } from '../lib/flags.ts';

/** A wrong path is invalid usage. A full disk is not: the same command works once there is room. */
export function unwritable(file: string, cause: unknown): Error {
  const message = `cannot write ${file}: ${whyUnwritable(cause)}`;
  return isDiskFull(cause) ? new Error(message, { cause }) : usage(message);
}
