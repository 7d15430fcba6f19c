import { setTimeout as sleep } from 'node:timers/promises';
import type { ManagedCertificate } from '../../../client/generated/managed-certificates.ts';
import { Resources } from '../../../client/generated/resources.ts';
import type { WantedPeople } from '../../../client/publish/wanted-edge.ts';
import type { Transport } from '../../../client/transport.ts';
import type { IdentityAddress } from '../../../control/identity/contracts.ts';
import { shellWord, wrapText } from '../../../kit/text/terminal-text.ts';
import { isPublicName } from '../../../proxy/acme/names.ts';
import { printable } from '../output/cell-text.ts';

interface Summary {
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
  /** Columns of the terminal; null: nothing is broken into lines. */
  readonly width: number | null;
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
  width,
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
  const lines = rows.map(([name, text]) => printable(`${name === '' ? '' : `${name}:`}`.padEnd(WIDTH) + text));
  return ['', ...lines.flatMap((line) => brokenRow(line, width))];
}

/** A command that somebody copies. */
const COMMAND = /(?:^|: )(?:postern|ssh) \S/;

/** A row breaks at words, and goes on below its text. A command breaks before its flags, as a shell takes it. */
function brokenRow(row: string, width: number | null): readonly string[] {
  const [label, text] = [row.slice(0, WIDTH), row.slice(WIDTH)];
  if (width === null || row.length <= width) return [row];
  const indent = ' '.repeat(WIDTH);
  if (COMMAND.test(text)) return [`${label}${text.replaceAll(' --', ` \\\n${indent}  --`)}`];
  return wrapText(text, width - WIDTH).map((line, at) => `${at === 0 ? label : indent}${line}`);
}

const LOOK_AGAIN_MS = 500;
const FOR_TRUST = 'Browsers do not trust it: see "postern ca"';

interface Waiting {
  readonly isAcmeOn: boolean;
  readonly waitMs: number;
  readonly print: (line: string) => void;
}

/** How hosts present themselves, one line each. Waits a while for certificates that are on order. */
export async function certificateLines(
  transport: Transport,
  hosts: readonly string[],
  { isAcmeOn, waitMs, print }: Waiting,
): Promise<readonly string[]> {
  const ordered = isAcmeOn ? hosts.filter(isPublicName) : [];
  if (ordered.length > 0) print('waiting for the ACME server');
  const found = await untilSettled(transport, ordered, waitMs);
  return hosts.map((host) => {
    if (!ordered.includes(host)) return `${host}: from the internal CA. ${FOR_TRUST}`;
    return printable(`${host}: ${stateText(found.get(host))}`);
  });
}

function stateText(certificate: ManagedCertificate | undefined): string {
  if (certificate?.status === 'issued')
    return `from the ACME server, valid until ${certificate.not_after?.slice(0, 10)}`;
  const job = certificate?.provisioning_job ?? null;
  const why = job === null || job.msg === '' ? 'the ACME server has not answered yet' : job.msg;
  const again = job?.retries_at ? `. The next attempt is at ${job.retries_at}` : '';
  return `from the internal CA until the ACME server issues one: ${why}${again}`;
}

async function untilSettled(
  transport: Transport,
  hosts: readonly string[],
  waitMs: number,
): Promise<ReadonlyMap<string, ManagedCertificate>> {
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const all = hosts.length === 0 ? [] : await Array.fromAsync(new Resources(transport).managedCertificates.list());
    const found = new Map(all.map((each) => [each.hostname, each]));
    if (hosts.every((host) => isSettled(found.get(host))) || performance.now() > deadlineMs) return found;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The certificate is there, or a reason why it is not. */
function isSettled(certificate: ManagedCertificate | undefined): boolean {
  return certificate?.status === 'issued' || (certificate?.provisioning_job?.error_code ?? null) !== null;
}
