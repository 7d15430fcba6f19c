import { resolve } from 'node:path';
import { domainToASCII } from 'node:url';
import {
  readTarget,
  type WantedEdge,
  type WantedLogin,
  type WantedPeople,
  type WantedTarget,
} from '../../../client/publish/wanted-edge.ts';
import { type Flag, isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { isAuthority } from '../../../kit/http/urls.ts';
import { cidrProblem, parseWrittenAddress } from '../../../kit/net/cidr.ts';
import { hostNameProblem, lowerCaseHost } from '../../../kit/net/host-name.ts';
import { emailAddress } from '../../../kit/text/email-address.ts';
import type { TextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { isId } from '../names/names.ts';
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

const EMAILS: Flag = {
  name: 'allow-email',
  kind: 'list',
  hint: 'ADDRESS,…',
  description: 'Let in only people with one of these verified addresses.',
};

const EMAIL_DOMAIN: Flag = {
  name: 'allow-email-domain',
  kind: 'list',
  hint: 'DOMAIN,…',
  description: 'Let in only people with a verified address of this domain.',
};

const GROUPS: Flag = {
  name: 'allow-groups',
  kind: 'list',
  hint: 'GROUP,…',
  description: 'Let in only members of one of these groups.',
};

export const PEOPLE_FLAGS: readonly Flag[] = [EMAILS, EMAIL_DOMAIN, GROUPS];

export function parsePeople(parsed: ParsedFlags): WantedPeople {
  return { emails: emailsOf(parsed), emailDomains: emailDomainsOf(parsed), groups: groupsOf(parsed) };
}

function groupsOf(parsed: ParsedFlags): readonly string[] {
  const groups = itemsOf(parsed, GROUPS);
  if (groups.includes('')) throw usage('--allow-groups requires names of groups: --allow-groups ops,support');
  return groups;
}

function emailDomainsOf(parsed: ParsedFlags): readonly string[] {
  const domains = itemsOf(parsed, EMAIL_DOMAIN).map((each) => each.toLowerCase().replace(/^@/, ''));
  if (domains.some((domain) => !/^[\w-]+(\.[\w-]+)+$/.test(domain))) {
    throw usage('--allow-email-domain requires a domain: --allow-email-domain example.com');
  }
  return domains;
}

function emailsOf(parsed: ParsedFlags): readonly string[] {
  const read = itemsOf(parsed, EMAILS).map(emailAddress);
  const emails = read.flatMap((each) => (each?.isPlain === true ? [each.text] : []));
  if (emails.length < read.length) {
    throw usage('--allow-email requires addresses: --allow-email ana@example.com,ben@example.com');
  }
  return [...new Set(emails)];
}

function itemsOf({ values }: ParsedFlags, { name }: Flag): readonly string[] {
  const given = (values.get(name) ?? []).flatMap((value) => value.split(','));
  return [...new Set(given.map((each) => each.trim()))];
}

export const LOGIN_FLAGS: readonly Flag[] = [
  switchFlag('login', "Require a login at the server's own identity host (identity_host)."),
  textFlag('oidc', 'ISSUER', 'Require a login at this OpenID provider: the URL of its issuer.'),
  textFlag('client-id', 'ID', 'With --oidc: client id of your application at the provider.'),
  fileFlag('client-secret-file', 'With --oidc: file with the client secret, - reads standard input.'),
];

/** What the command line says: a provider, our own identity host (whose issuer the server knows), or no login. */
export type ParsedLogin = WantedLogin | 'own' | null;

export function parseLogin(parsed: ParsedFlags, clientSecret: string | null): ParsedLogin {
  const { flags } = parsed;
  const [issuer, clientId] = [flags.get('oidc'), flags.get('client-id')];
  if (isOn(parsed, 'login')) {
    const [extra] = ['oidc', 'client-id', 'client-secret-file'].filter((name) => flags.has(name));
    if (extra !== undefined) throw usage(`--login and --${extra} exclude each other: --login needs no other provider`);
    return 'own';
  }
  if (issuer === undefined) {
    const [extra] = ['client-id', 'client-secret-file'].filter((name) => flags.has(name));
    if (extra !== undefined) throw usage(`--${extra} needs --oidc ISSUER`);
    return null;
  }
  if (clientId === undefined) throw usage('--oidc needs --client-id ID, which the provider gave your application');
  return { issuer, clientId, clientSecret };
}

export const NO_IDENTITY_HOST =
  '--login needs an identity host, and the server has none: set identity_host and start it again, or use --oidc ISSUER';

const HOST = /^(?<host>(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?)(?::(?<port>\d{1,5}))?(?<path>\/\S*)?$/;

const VERB = /^(?:add|create|delete|get|list|ls|new|publish|remove|rm|show|update)$/;

/**
 * The one argument: `app.example.com`, `app.example.com:7443`, `app.example.com/admin`. The flags are those of the
 * command line.
 */
export function parseSite(
  positionals: readonly string[],
  command: 'edge' | 'up' | 'down',
  flags: ReadonlyMap<string, string> = new Map(),
): Pick<WantedEdge, 'host' | 'port' | 'path'> {
  const [text = '', ...others] = positionals;
  // A verb is not meant as a host: no public name has one label.
  if (VERB.test(text)) {
    const target = command === 'down' ? '' : ' --to 3000';
    throw usage(
      `postern ${command} takes a host and no "${text}": postern ${command} app.example.com${target}. "postern api https-edges --help" lists the single steps`,
    );
  }
  // The message repeats no argument: it may be the password.
  if (others.length === 1 && flags.has('password'))
    throw usage(
      `the command asks for the password on the terminal: nothing may follow --password, and other users of the machine can read an argument. --password-file FILE takes it from a file`,
    );
  if (text === '' || others.length > 0) {
    const target = command === 'down' ? '' : ' --to 127.0.0.1:3000';
    throw usage(`postern ${command} takes one host: postern ${command} app.example.com${target}`);
  }
  const { host, port, path } = HOST.exec(text.replace(/^https?:\/\//, ''))?.groups ?? {};
  if (host === undefined) {
    const ascii = domainToASCII(text);
    throw usage(
      /[^\0-\x7f]/.test(text) && ascii !== ''
        ? `the host has letters outside of ASCII: write ${ascii}`
        : `${JSON.stringify(text)} is no host: write it in the form app.example.com, app.example.com:7443 or app.example.com/path`,
    );
  }
  const name = lowerCaseHost(host).replace(/\.$/, '');
  const problem = hostNameProblem(name, 'allowed');
  if (problem !== null) throw usage(`the host ${problem}`);
  return {
    host: name,
    port: port === undefined ? null : Number(port),
    path: path ?? '/',
  };
}

/** `127.0.0.1:3000`, `3000`, `http://web:8080`, `https://web`, a folder, or the id of a backend. */
export function parseTarget(text: string | undefined): WantedTarget {
  if (text === undefined) throw usage('--to is required: --to 127.0.0.1:3000');
  if (isId(text)) return { kind: 'backend', id: text };
  if (/^(?:\.{0,2}\/|\.{1,2}$)/.test(text)) return { kind: 'folder', folder: resolve(text) };
  const port = /^(?:.*:)?(\d+)\/?$/.exec(text)?.[1];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    throw usage(`--to ${text}: ${port} is no port. Ports go from 1 to 65535`);
  const target = readTarget(text);
  if (target === null) {
    throw usage(
      `--to ${JSON.stringify(text)} is no address: --to takes host:port, a port, http://host:port, https://host:port, a folder (/srv/www or ./site) or the id of a backend`,
    );
  }
  return target;
}
