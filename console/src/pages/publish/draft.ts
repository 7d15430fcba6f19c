import { USUAL_SCOPES } from '../../../../src/client/publish/edge-login.ts';
import {
  readFolder,
  readTarget,
  type WantedEdge,
  type WantedLogin,
  type WantedPassword,
  type WantedPeople,
  type WantedTarget,
} from '../../../../src/client/publish/wanted-edge.ts';
import { expiryProblem } from '../../../../src/control/resources/guest_links/link-expiry.ts';
import { hostNameProblem } from '../../../../src/kit/net/host-name.ts';
import { addressesIn, rangesIn, rangesProblem } from '../../format/address-ranges.ts';

export type TargetKind = 'address' | 'agents' | 'folder' | 'page';
export type EntryKind = 'everybody' | 'own' | 'provider' | 'password' | 'addresses' | 'guest';

/** What a person has typed so far. */
export interface Draft {
  readonly host: string;
  readonly target: TargetKind;
  readonly address: string;
  /** "app=shop, zone=a". */
  readonly labels: string;
  /** Absolute, on the machine of the server. */
  readonly folder: string;
  readonly page: string;
  /** Status of the page. */
  readonly status: string;
  readonly entry: EntryKind | null;
  /** E-mail addresses, and domains as "@example.com". */
  readonly people: string;
  readonly groups: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Null: those that the rules need. */
  readonly scopes: string | null;
  /** The only ones of the choice "addresses"; beside another choice, what else is asked. */
  readonly addresses: string;
  readonly passwords: readonly WantedPassword[];
  /** Names whose password is stored already: an empty one keeps it. */
  readonly knownNames: readonly string[];
  readonly guest: string;
  readonly guestUntil: string;
}

const WEEK_MS = 7 * 86_400_000;

export function newDraft(): Draft {
  return {
    host: '',
    target: 'address',
    address: '',
    labels: '',
    folder: '',
    page: '',
    status: '200',
    entry: null,
    people: '',
    groups: '',
    issuer: '',
    clientId: '',
    clientSecret: '',
    scopes: null,
    addresses: '',
    passwords: [{ username: '', password: '' }],
    knownNames: [],
    guest: '',
    guestUntil: new Date(Date.now() + WEEK_MS).toISOString(),
  };
}

/** Facts about the server that publishes. */
export interface ServerFacts {
  readonly listenerPort: number;
  /** Null: people cannot log in at this server itself. */
  readonly ownIssuer: string | null;
}

export type Problems = Readonly<Partial<Record<keyof Draft, string>>>;

/** What stands against the draft, by field. */
export function problemsOf(draft: Draft): Problems {
  return { ...hostProblems(draft), ...targetProblems(draft), ...entryProblems(draft) };
}

function hostProblems({ host }: Draft): Problems {
  const name = hostOf(host);
  if (name === '') return { host: 'Enter a host name, such as app.example.com.' };
  if (/[:/]/.test(name)) return { host: 'Enter the host name alone, without a port or a path.' };
  const problem = hostNameProblem(name, 'refused');
  return problem === null ? {} : { host: `The name ${problem}.` };
}

export function targetProblems({ target, address, labels, folder, page, status }: Draft): Problems {
  if (target === 'address') {
    return readTarget(address.trim()) === null
      ? { address: 'Enter host:port, a port of this machine, or a URL such as http://web:8080.' }
      : {};
  }
  if (target === 'folder')
    return readFolder(folder.trim()) === null ? { folder: 'Enter an absolute path, such as /srv/www.' } : {};
  if (target === 'agents') return labelsIn(labels) === null ? { labels: 'Enter labels such as app=shop.' } : {};
  return {
    ...(page === '' && { page: 'Enter the text of the page.' }),
    ...(!/^[2-5]\d\d$/.test(status) && { status: 'Enter a status from 200 to 599, such as 200 or 503.' }),
  };
}

export function entryProblems(draft: Draft): Problems {
  return { ...choiceProblems(draft), ...(draft.entry === 'everybody' ? {} : addressProblem(draft)) };
}

function addressProblem({ addresses }: Draft): Problems {
  const problem = rangesProblem(addresses);
  return problem === null ? {} : { addresses: problem };
}

function passwordProblem({ passwords, knownNames }: Draft): Problems {
  for (const { username, password } of passwords) {
    if (username.trim() === '') return { passwords: 'Enter a user name.' };
    if (username.includes(':')) return { passwords: `The name “${username}” must have no colon.` };
    const isKept = password === '' && knownNames.includes(username);
    if (!isKept && password.length < 8)
      return { passwords: `The password of ${username} needs at least 8 characters.` };
  }
  return {};
}

function choiceProblems(draft: Draft): Problems {
  switch (draft.entry) {
    case null:
      return { entry: 'Choose who may enter.' };
    case 'provider':
      return {
        ...issuerProblem(draft),
        ...(draft.clientId.trim() === '' && { clientId: CLIENT_ID }),
        ...people(draft),
      };
    case 'own':
      return people(draft);
    case 'addresses':
      return addressesIn(draft.addresses).length === 0 ? { addresses: 'Enter at least one address or range.' } : {};
    case 'password':
      return passwordProblem(draft);
    case 'guest':
      return guestProblem(draft);
    case 'everybody':
      return {};
  }
}

function guestProblem({ guestUntil }: Draft): Problems {
  if (!(Date.parse(guestUntil) > Date.now())) return { guestUntil: 'Choose a time in the future.' };
  const problem = expiryProblem(guestUntil, Date.now());
  return problem === null ? {} : { guestUntil: `It ${problem}.` };
}

const CLIENT_ID = 'Enter the client ID that the provider gave your application.';

function issuerProblem({ issuer }: Draft): Problems {
  return URL.canParse(issuer.trim()) && /^https?:/.test(issuer.trim())
    ? {}
    : { issuer: 'Enter the URL of the issuer, such as https://accounts.example.com.' };
}

function people(draft: Draft): Problems {
  const items = itemsIn(draft.people);
  const wrong = items.find((each) => !/^[^\s@]*@[^\s@]+\.[^\s@]+$/.test(each));
  if (wrong !== undefined) return { people: `“${wrong}” is neither an address nor a domain such as @example.com.` };
  // One rule names both, and nobody fits both.
  const domains = items.filter((each) => each.startsWith('@')).length;
  return domains === 0 || domains === items.length ? {} : { people: 'Enter addresses or domains, not both.' };
}

/** For a draft without problems. */
export function wantedOf(draft: Draft, { listenerPort, ownIssuer }: ServerFacts): WantedEdge {
  const { entry, guest, guestUntil } = draft;
  return {
    host: hostOf(draft.host),
    port: null,
    listenerPort,
    path: '/',
    target: targetOf(draft),
    login: loginOf(draft, ownIssuer),
    ...peopleOf(draft),
    ...(entry !== 'everybody' && { addresses: rangesIn(draft.addresses) }),
    ...(entry === 'password' && { passwords: draft.passwords }),
    ...(entry === 'guest' && { guests: { label: guest.trim(), expiresAt: guestUntil, maxBrowsers: 1 } }),
  };
}

export function hostOf(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/[./]$/, '');
}

function targetOf({ target, address, labels, folder, page, status }: Draft): WantedTarget {
  if (target === 'folder') return readFolder(folder.trim()) ?? { kind: 'folder', folder: folder.trim() };
  if (target === 'agents') return { kind: 'agents', labels: labelsIn(labels) ?? {} };
  if (target === 'page') {
    const isHtml = /^\s*</.test(page);
    return {
      kind: 'page',
      status: Number(status),
      contentType: `text/${isHtml ? 'html' : 'plain'}; charset=utf-8`,
      body: page,
    };
  }
  return readTarget(address.trim()) ?? { kind: 'address', address: address.trim(), hasTls: false };
}

function loginOf(draft: Draft, ownIssuer: string | null): WantedLogin | null {
  if (draft.entry === 'own' && ownIssuer !== null) return { issuer: ownIssuer, clientId: '', clientSecret: null };
  if (draft.entry !== 'provider') return null;
  return {
    issuer: draft.issuer.trim(),
    clientId: draft.clientId.trim(),
    clientSecret: draft.clientSecret === '' ? null : draft.clientSecret,
    scopes: scopesOf(draft),
  };
}

export function scopesOf({ scopes, groups }: Draft): readonly string[] {
  if (scopes !== null) return scopes.split(/[\s,]+/).filter((each) => each !== '');
  return [...USUAL_SCOPES, ...(itemsIn(groups).length > 0 ? ['groups'] : [])];
}

function peopleOf({ entry, people: named, groups }: Draft): WantedPeople {
  if (entry !== 'own' && entry !== 'provider') return { emails: [], emailDomains: [], groups: [] };
  const items = itemsIn(named).map((each) => each.toLowerCase());
  return {
    emails: items.filter((each) => !each.startsWith('@')),
    emailDomains: items.filter((each) => each.startsWith('@')).map((each) => each.slice(1)),
    groups: itemsIn(groups),
  };
}

/** "app=shop, zone=a"; null: they are not labels. */
export function labelsIn(text: string): Readonly<Record<string, string>> | null {
  const pairs = itemsIn(text).map((each) => /^([^=\s]+)=(.+)$/.exec(each));
  if (pairs.length === 0 || pairs.includes(null)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']));
}

function itemsIn(text: string): readonly string[] {
  return [...new Set(text.split(/[,\n]/).map((each) => each.trim()))].filter((each) => each !== '');
}
