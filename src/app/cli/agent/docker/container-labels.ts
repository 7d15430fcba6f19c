import { hostNameProblem, lowerCaseHost } from '../../../../kit/net/host-name.ts';
import { labelsProblem } from '../../../../kit/text/labels.ts';
import { didYouMean } from '../../../../kit/text/near-match.ts';
import { emailProblem, groupProblem, splitLabel } from '../config/tunnel-rules.ts';
import { PREFIX, portOf } from './container.ts';

const NAMES = ['host', 'labels', 'port', 'scheme', 'network', 'login', 'allow-groups', 'allow-emails'] as const;
/** As they are written. */
const LABELS: readonly string[] = NAMES.map((name) => `${PREFIX}${name}`);
const SCHEMES = ['http', 'https', 'h2c'] as const;
const MAX_LENGTH = 4_096;
const MAX_ITEMS = 100;
const SHOWN = 60;

type LabelName = (typeof NAMES)[number];

/** What the labels of a container ask for. Null: not said. */
export interface ContainerLabels {
  readonly host: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly port: number | null;
  readonly scheme: (typeof SCHEMES)[number];
  readonly network: string | null;
  readonly login: boolean | null;
  readonly allowGroups: readonly string[] | null;
  readonly allowEmails: readonly string[] | null;
}

/** Thrown and caught here: the reason why the labels are rejected. */
class Rejected extends Error {}

/** Unknown labels are rejected: a misspelled `allow-groups` must not publish to everybody. */
export function readLabels(given: ReadonlyMap<string, string>): ContainerLabels | { readonly reason: string } {
  try {
    return read(given);
  } catch (error) {
    if (error instanceof Rejected) return { reason: error.message };
    throw error;
  }
}

function read(given: ReadonlyMap<string, string>): ContainerLabels {
  const values = new Map<LabelName, string>();
  for (const [label, value] of given) {
    if (!label.startsWith(PREFIX)) continue;
    values.set(knownName(label.slice(PREFIX.length)), checkedValue(label, value));
  }
  const labels: ContainerLabels = {
    host: hostOf(values.get('host')),
    labels: groupLabelsOf(values.get('labels')),
    port: portLabel(values.get('port')),
    scheme: schemeOf(values.get('scheme')),
    network: values.get('network') ?? null,
    login: loginOf(values.get('login')),
    allowGroups: listOf('allow-groups', values.get('allow-groups'), groupProblem),
    allowEmails:
      listOf('allow-emails', values.get('allow-emails'), emailProblem)?.map((email) => email.toLowerCase()) ?? null,
  };
  if (labels.host === null && labels.labels === null) {
    throw new Rejected('it has neither postern.host nor postern.labels: one of them says where it is published');
  }
  const isAboutPeople = labels.login !== null || labels.allowGroups !== null || labels.allowEmails !== null;
  if (labels.host === null && isAboutPeople) {
    throw new Rejected(
      'postern.login and postern.allow-… need postern.host: a member of a tunnel group is protected by the edges that serve it',
    );
  }
  if (labels.login === false && (labels.allowGroups !== null || labels.allowEmails !== null)) {
    throw new Rejected('postern.login=false contradicts postern.allow-…: remove one of them');
  }
  return labels;
}

function knownName(name: string): LabelName {
  const known = NAMES.find((each) => each === name);
  if (known !== undefined) return known;
  throw new Rejected(
    `the label ${shown(`${PREFIX}${name}`)} is unknown.${didYouMean(`${PREFIX}${name.slice(0, SHOWN)}`, LABELS)} Known: ${LABELS.join(', ')}`,
  );
}

function checkedValue(label: string, value: string): string {
  if (value.length > MAX_LENGTH) throw new Rejected(`${label} is longer than ${MAX_LENGTH} characters`);
  if (/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(value)) throw new Rejected(`${label} has control characters`);
  const text = value.trim();
  if (text === '') throw new Rejected(`${label} is empty: give it a value or remove it`);
  return text;
}

function hostOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const problem = hostNameProblem(text, 'refused');
  if (problem !== null)
    throw new Rejected(`postern.host must be a host name such as app.example.com, not ${shown(text)}`);
  return lowerCaseHost(text);
}

function groupLabelsOf(text: string | undefined): Readonly<Record<string, string>> | null {
  if (text === undefined) return null;
  const pairs = itemsOf('labels', text).map(splitLabel);
  const labels = Object.fromEntries(pairs);
  if (pairs.length !== Object.keys(labels).length) throw new Rejected('postern.labels has two values for one name');
  const problem = labelsProblem(labels);
  if (problem !== null) throw new Rejected(`postern.labels must be NAME=VALUE,… such as app=web: it ${problem}`);
  return labels;
}

function portLabel(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = portOf(text);
  if (port === null) throw new Rejected(`postern.port must be a number from 1 to 65535, not ${shown(text)}`);
  return port;
}

function schemeOf(text: string | undefined): ContainerLabels['scheme'] {
  if (text === undefined) return 'http';
  const scheme = SCHEMES.find((each) => each === text);
  if (scheme === undefined) throw new Rejected(`postern.scheme must be ${SCHEMES.join(', ')}, not ${shown(text)}`);
  return scheme;
}

function loginOf(text: string | undefined): boolean | null {
  if (text === undefined) return null;
  if (text !== 'true' && text !== 'false')
    throw new Rejected(`postern.login must be true or false, not ${shown(text)}`);
  return text === 'true';
}

function listOf(
  name: LabelName,
  text: string | undefined,
  problemOf: (item: string) => string | null,
): readonly string[] | null {
  if (text === undefined) return null;
  const items = itemsOf(name, text);
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== null) throw new Rejected(`an item of ${PREFIX}${name} ${problem}, not ${shown(item)}`);
  }
  return [...new Set(items)];
}

function itemsOf(name: LabelName, text: string): readonly string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.length > MAX_ITEMS) throw new Rejected(`${PREFIX}${name} has more than ${MAX_ITEMS} items`);
  if (items.includes('')) throw new Rejected(`${PREFIX}${name} has an empty item: remove the comma`);
  return items;
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN).toWellFormed()}…` : text);
}
