import { OWNER_PATTERN } from '../../configuration-file/format.ts';
import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { switchFlag, textFlag } from '../shared-flags.ts';

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

export const OWNER = textFlag(
  'owner',
  'NAME',
  'Owner of the objects, if the files name none. That of a server with a file of sites is postern-server.',
);

export const TAKE_OVER = switchFlag('take-over', 'Take over objects that the files of another owner have.');

/** The owner that the files name, or the flag does. */
export function withOwner<Loaded extends { readonly configuration: { readonly owner: string | null } }>(
  loaded: Loaded,
  { flags }: ParsedFlags,
): Loaded {
  const given = flags.get(OWNER.name);
  const { owner } = loaded.configuration;
  if (given !== undefined && !new RegExp(OWNER_PATTERN).test(given))
    throw usage('--owner must be a name of up to 64 letters, digits, ".", "_" and "-"');
  if (given !== undefined && owner !== null && owner !== given)
    throw usage(`--owner is ${given}, and the files name the owner ${owner}: use one of them`);
  return { ...loaded, configuration: { ...loaded.configuration, owner: owner ?? given ?? null } };
}

/** The files of a command: after each `-f`, and arguments that follow. */
export function pathsOf({ values, positionals }: ParsedFlags, command: string): readonly string[] {
  const files = values.get(FILES.name) ?? [];
  if (files.length === 0) throw usage(`postern ${command} needs a file: -f postern-sites.yaml`);
  return [...files, ...positionals];
}
