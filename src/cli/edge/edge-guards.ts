import { type Flag, isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import { isAuthority } from '../../lib/http/is-authority.ts';
import { cidrProblem, parseWrittenAddress } from '../../lib/net/cidr.ts';
import type { WantedEdge } from '../../publish/wanted-edge.ts';
import type { TextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { askTwiceUnseen } from '../read-passphrase.ts';
import { fileFlag, switchFlag, textFlag } from '../shared-flags.ts';

/** For somebody who protects a site with one password. */
const USERNAME = 'visitor';

export const GUARD_FLAGS: readonly Flag[] = [
  switchFlag(
    'password',
    'Ask visitors for a user name and a password. The command asks for the password; an argument could be read by other users of the machine.',
  ),
  fileFlag('password-file', 'The same, with the password from a file; - reads standard input.'),
  textFlag('username', 'NAME', 'User name that goes with the password.', { default: USERNAME }),
  {
    name: 'only',
    kind: 'list',
    hint: 'ADDRESS,…',
    description: 'Let in only visitors from these addresses, or ranges such as 192.0.2.0/24.',
  },
  textFlag(
    'host-header',
    'HOST',
    'Host header for the target, for applications that accept only names they know: preserve (the name that visitors use), rewrite (the address of the target), or a host such as localhost.',
  ),
];

export type Guards = Pick<WantedEdge, 'passwords' | 'addresses' | 'hostHeader'>;

/** What guards the site beside a login, as far as the command line says. */
export async function readGuards(
  parsed: ParsedFlags,
  source: TextSource,
  context: Pick<CommandContext, 'ask'>,
): Promise<Guards> {
  const addresses = addressesOf(parsed);
  const hostHeader = hostHeaderOf(parsed);
  const username = usernameOf(parsed);
  const password = username === null ? null : await passwordOf(parsed, source, context);
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(hostHeader !== undefined && { hostHeader }),
    ...(username !== null && password !== null && { passwords: [{ username, password }] }),
  };
}

/** Null: no flag asks for a password. */
function usernameOf(parsed: ParsedFlags): string | null {
  const { flags } = parsed;
  const username = flags.get('username');
  if (flags.get('password') === 'false')
    throw usage('--no-password does not exist: postern api basic-auth delete HOST removes the passwords of a site');
  if (!isOn(parsed, 'password') && !flags.has('password-file')) {
    if (username !== undefined) throw usage('--username needs --password or --password-file FILE');
    return null;
  }
  if (username === '' || username?.includes(':')) throw usage('--username takes a name without a colon');
  return username ?? USERNAME;
}

async function passwordOf(
  { flags }: ParsedFlags,
  source: TextSource,
  { ask }: Pick<CommandContext, 'ask'>,
): Promise<string> {
  const file = flags.get('password-file');
  // Editors and echo append a line break.
  if (file !== undefined) {
    const text = (await source.read(file, 'password-file')).replace(/\r?\n$/, '');
    if (text === '') throw usage('--password-file: the file is empty');
    return text;
  }
  if (ask === undefined)
    throw usage('--password asks on a terminal, and there is none: use --password-file FILE, or - for standard input');
  const typed = await askTwiceUnseen('Password');
  if (typed === '') throw usage('the password is empty. Nothing was changed');
  return typed;
}

/** Ranges: one address is a range of one. */
function addressesOf({ values }: ParsedFlags): readonly string[] {
  const given = (values.get('only') ?? []).flatMap((value) => value.split(',')).map((each) => each.trim());
  const ranges = given.map((text) => {
    const kind = parseWrittenAddress(text)?.kind();
    const range = kind === undefined ? text : `${text}/${kind === 'ipv4' ? 32 : 128}`;
    const problem = cidrProblem(range, 'must be an address such as 192.0.2.7, or a range such as 192.0.2.0/24');
    if (problem !== null) throw usage(`--only ${JSON.stringify(text.slice(0, 60))} ${problem}`);
    return range.toLowerCase();
  });
  return [...new Set(ranges)];
}

function hostHeaderOf({ flags }: ParsedFlags): string | undefined {
  const given = flags.get('host-header');
  if (given !== undefined && !isAuthority(given))
    throw usage('--host-header takes preserve, rewrite, or a host with an optional port, such as localhost:8888');
  return given;
}
