import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { switchFlag } from '../shared-flags.ts';

export const FILES: Flag = {
  name: 'file',
  aliases: ['f'],
  kind: 'repeated',
  hint: 'FILE',
  isFile: true,
  description: 'File or directory; - reads standard input.',
};

export const PRUNE = switchFlag(
  'prune',
  'Also remove what an earlier apply of the same owner had and the files no longer have.',
);

export const TAKE_OVER = switchFlag('take-over', 'Take over objects that the files of another owner have.');

/** The files of a command: after each `-f`, and arguments that follow. */
export function pathsOf({ values, positionals }: ParsedFlags, command: string): readonly string[] {
  const files = values.get(FILES.name) ?? [];
  if (files.length === 0) throw usage(`postern ${command} needs a file: -f postern.yaml`);
  return [...files, ...positionals];
}
