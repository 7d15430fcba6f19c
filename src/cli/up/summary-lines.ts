import type { IdentityAddress } from '../../config/identity-settings.ts';
import { shellWord } from '../../lib/text/shell-word.ts';
import type { WantedPeople } from '../../publish/wanted-edge.ts';
import { printable } from '../api/cell-text.ts';

export interface Summary {
  readonly url: string;
  readonly certificates: readonly string[];
  /** Where people log in for the site; null: nowhere here. */
  readonly identity: IdentityAddress | null;
  /** Whom to invite; null: this command does not change who may enter. */
  readonly people: WantedPeople | null;
  /** A link that makes the reader the first administrator; null: there is one, or nobody reads it. */
  readonly administrator: string | null;
  readonly console: readonly string[];
  /** Flags with which other commands find the server. */
  readonly connection: string;
}

const WIDTH = 15;

/** What the user wants to know at the end. */
export function summaryLines({
  url,
  certificates,
  identity,
  people,
  connection,
  console,
  administrator,
}: Summary): readonly string[] {
  const rows: (readonly [string, string])[] = [['Address', url]];
  for (const [index, line] of certificates.entries()) rows.push([index === 0 ? 'Certificate' : '', line]);
  if (identity !== null) rows.push(['Login', `${identity.issuer}/`]);
  if (identity !== null && people !== null) {
    const who = people.emails.length > 0 ? people.emails.map(shellWord).join(' ') : 'ana@example.com';
    const groups = people.groups.length > 0 ? ` --groups ${shellWord(people.groups.join(','))}` : '';
    rows.push(['Invite', `postern users add ${who}${groups}${connection}`]);
  }
  if (administrator !== null)
    rows.push([
      'Administrator',
      `${administrator} (makes you the first one: once, within 24 hours; replaces earlier links)`,
    ]);
  for (const [index, line] of console.entries()) rows.push([index === 0 ? 'Console' : '', line]);
  return ['', ...rows.map(([name, text]) => printable(`${name === '' ? '' : `${name}:`}`.padEnd(WIDTH) + text))];
}
