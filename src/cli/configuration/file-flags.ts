import { usage } from '../../lib/flags.ts';
import type { RepeatedFlags } from './repeated-flags.ts';

/** `-f` and `--file`, for `parseRepeatedFlags`. */
export const FILE_FLAGS = [['file'], new Map([['f', 'file']])] as const;

/** The files of a command: after each `-f`, and arguments that follow. */
export function pathsOf({ repeated, positionals }: RepeatedFlags, command: string): readonly string[] {
  const files = repeated.get('file') ?? [];
  if (files.length === 0) throw usage(`postern ${command} needs a file: -f postern.yaml`);
  return [...files, ...positionals];
}
